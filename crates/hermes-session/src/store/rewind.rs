//! Taking back: the rows stay, with `active = 0`, so that a resumed session does not bring them
//! back and nothing is lost.

use hermes_store::rusqlite::params;

use super::{Scope, SessionStore};
use crate::message::{Role, StoredMessage};
use crate::{Error, MessageId, Result, SessionId};

/// What was taken back.
#[derive(Debug, Clone, PartialEq)]
pub struct TakenBack {
    /// The person's message at the beginning of it, to be sent again or edited.
    pub message: StoredMessage,
    /// How many messages went.
    pub count: usize,
}

impl SessionStore {
    /// Takes back the last `turns` messages of the person and everything after them. `None` if
    /// there is nothing to take back. A turn that ended without an answer counts like any other.
    pub fn take_back(&mut self, id: &SessionId, turns: usize) -> Result<Option<TakenBack>> {
        self.write(|scope| {
            scope.must_exist(id)?;
            let messages = scope.messages(id, true)?;
            let said: Vec<&StoredMessage> = messages
                .iter()
                .filter(|stored| stored.message.role == Role::User && !stored.message.is_summary())
                .collect();
            let first = match turns {
                0 => None,
                turns => said.get(said.len().saturating_sub(turns)),
            };
            match first {
                None => Ok(None),
                Some(first) => scope.put_aside_from(id, first).map(Some),
            }
        })
    }

    /// Takes back a message of the person and everything after it.
    pub fn take_back_from(&mut self, id: &SessionId, message: MessageId) -> Result<TakenBack> {
        self.write(|scope| {
            scope.must_exist(id)?;
            let messages = scope.messages(id, true)?;
            let first = messages
                .iter()
                .find(|stored| stored.id == message && stored.message.role == Role::User)
                .ok_or_else(|| Error::UnknownMessage {
                    session: id.clone(),
                    message,
                })?;
            scope.put_aside_from(id, first)
        })
    }
}

impl Scope<'_> {
    fn put_aside_from(&self, id: &SessionId, first: &StoredMessage) -> Result<TakenBack> {
        let count = self.execute(
            "UPDATE messages SET active = 0 WHERE session_id = ?1 AND id >= ?2 AND active IS NOT 0",
            params![id.as_str(), first.id.0],
        )?;
        self.execute(
            "UPDATE sessions SET rewind_count = COALESCE(rewind_count, 0) + 1 WHERE id = ?1",
            params![id.as_str()],
        )?;
        self.recount(id)?;
        Ok(TakenBack {
            message: first.clone(),
            count,
        })
    }
}
