//! Whether a change to memory or to a skill is made now, waits for approval, or is not made.

use hermes_home::PendingWrites;
use serde_json::{Value, json};

/// What becomes of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteDecision {
    Allowed,
    /// The user said no.
    Denied,
    /// Nobody can be asked now: it waits.
    Later,
}

/// Decides about changes.
pub trait WriteGate: Send + Sync {
    /// Decides about one, perhaps by showing it to the user.
    fn decide(&self, summary: &str, detail: &str) -> WriteDecision;
}

/// Keeps a change until the user has looked at it. Gives the result of the call.
pub(crate) fn staged(
    pending: &PendingWrites,
    summary: &str,
    payload: Value,
    review: &str,
) -> Value {
    match pending.stage(summary, payload) {
        Ok(id) => json!({
            "success": true,
            "staged": true,
            "pending_id": id,
            "message": format!(
                "Not saved yet: the change waits for the approval of the user, who finds it with \
                 {review}."
            ),
        }),
        Err(error) => json!({
            "success": false,
            "error": format!("The change could not be kept for approval: {error}"),
        }),
    }
}
