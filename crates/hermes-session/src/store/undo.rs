//! Undoing turns: the rows stay with `active = 0`, so that a resumed session does not show them and
//! nothing is lost.

use hermes_store::rusqlite::params;

use super::SessionStore;
use crate::message::{MessageRole, StoredMessage};
use crate::{Result, SessionId};

/// Turns that were undone.
#[derive(Debug, Clone, PartialEq)]
pub struct UndoneTurns {
    /// The user's message of the first undone turn, to be sent again or edited.
    pub message: StoredMessage,
    pub count: usize,
}

impl SessionStore {
    /// Undoes the last `turns` messages of the user and everything after them. `None` if there is
    /// nothing to undo. A turn that ended without an answer counts like any other.
    pub fn undo_turns(&mut self, id: &SessionId, turns: usize) -> Result<Option<UndoneTurns>> {
        self.write(|transaction| {
            transaction.must_exist(id)?;
            let messages = transaction.active_messages(id)?;
            let sent: Vec<&StoredMessage> = messages
                .iter()
                .filter(|stored| {
                    stored.message.role == MessageRole::User && !stored.message.is_summary()
                })
                .collect();
            let first = match turns {
                0 => None,
                turns => sent.get(sent.len().saturating_sub(turns)),
            };
            let Some(first) = first else {
                return Ok(None);
            };
            let count = transaction.execute(
                "UPDATE messages SET active = 0
                 WHERE session_id = ?1 AND id >= ?2 AND active IS NOT 0",
                params![id.as_str(), first.id.0],
            )?;
            transaction.execute(
                "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?1",
                params![id.as_str()],
            )?;
            transaction.recount(id)?;
            Ok(Some(UndoneTurns {
                message: (*first).clone(),
                count,
            }))
        })
    }
}
