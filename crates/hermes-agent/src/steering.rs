//! User messages for a running turn, queued until its next request.

use std::sync::{Mutex, PoisonError};

/// Start of such a message in the conversation. Explained in the system prompt.
pub(crate) const MARK: &str = "[OUT-OF-BAND USER MESSAGE]";
pub(crate) const END_MARK: &str = "[/OUT-OF-BAND USER MESSAGE]";

/// The queue of messages for a running turn.
#[derive(Debug, Default)]
pub struct Steering {
    pending: Mutex<Vec<String>>,
}

impl Steering {
    /// Adds a message.
    pub fn send(&self, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            let pending = self.pending.lock();
            pending.unwrap_or_else(PoisonError::into_inner).push(text);
        }
    }

    pub(crate) fn take(&self) -> Option<String> {
        let pending = self.pending.lock();
        let mut pending = pending.unwrap_or_else(PoisonError::into_inner);
        (!pending.is_empty()).then(|| std::mem::take(&mut *pending).join("\n\n"))
    }
}

pub(crate) fn marked(text: &str) -> String {
    let text = text.replace(END_MARK, "");
    format!("{MARK}\n{}\n{END_MARK}", text.trim())
}
