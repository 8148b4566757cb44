//! Words for a turn that runs already: kept until the next request takes them along.

use std::sync::{Mutex, PoisonError};

/// What stands before such words in the conversation. The system prompt explains it.
pub(crate) const MARK: &str = "[OUT-OF-BAND USER MESSAGE]";
/// What stands behind them.
pub(crate) const END_MARK: &str = "[/OUT-OF-BAND USER MESSAGE]";

/// Words on their way into a turn.
#[derive(Debug, Default)]
pub struct Steering {
    pending: Mutex<Vec<String>>,
}

impl Steering {
    /// Adds words.
    pub fn say(&self, text: impl Into<String>) {
        let text = text.into();
        if !text.trim().is_empty() {
            self.locked().push(text);
        }
    }

    /// Takes what has been said.
    pub(crate) fn take(&self) -> Option<String> {
        let mut pending = self.locked();
        (!pending.is_empty()).then(|| std::mem::take(&mut *pending).join("\n\n"))
    }

    fn locked(&self) -> std::sync::MutexGuard<'_, Vec<String>> {
        // Nobody leaves a half-written list behind.
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The words as the model sees them.
pub(crate) fn marked(text: &str) -> String {
    let text = text.replace(END_MARK, "");
    format!("{MARK}\n{}\n{END_MARK}", text.trim())
}
