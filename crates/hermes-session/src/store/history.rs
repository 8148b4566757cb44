//! Loading a conversation: every call with its result, every result with its call.

use hermes_store::rusqlite::params;

use serde_json::Value;

use super::{SessionStore, SessionTransaction, count_of, rows};
use crate::message::{MessageRole, SessionMessage, StoredMessage};
use crate::session::Session;
use crate::{MessageId, Result, SessionId};

/// Placeholder for a result that was never stored.
const LOST_RESULT: &str = "[The result of this call was not stored; it may or may not have run.]";

/// The active messages of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConversationHistory {
    /// The messages. Each call is followed by its results and each result follows its call.
    pub messages: Vec<StoredMessage>,
    /// Messages left out: unanswered calls at the end, results without a call.
    pub left_out: Vec<MessageId>,
}

/// A session to continue.
#[derive(Debug, Clone)]
pub struct Resumed {
    pub session: Session,
    pub history: ConversationHistory,
    pub todos: Option<Vec<Value>>,
}

impl SessionStore {
    /// Reopens a session: it no longer counts as ended. A call left without a result by a crash of
    /// another program is deactivated, so that new messages follow a complete history.
    pub fn resume(&mut self, id: &SessionId) -> Result<Resumed> {
        self.write_unsynced(|transaction| {
            let (session, messages) = transaction.reopen(id)?;
            Ok(Resumed {
                session,
                history: complete(messages),
                todos: transaction.latest_todos(id)?,
            })
        })
    }

    /// The last message of a session, whatever became of it; `None` if it has none.
    pub fn last_message(&self, session: &SessionId) -> Result<Option<MessageId>> {
        let last = self.read(|transaction| {
            transaction.row(
                "SELECT MAX(id) FROM messages WHERE session_id = ?1",
                params![session.as_str()],
                |row| row.get::<_, Option<i64>>(0),
            )
        })?;
        Ok(last.flatten().map(MessageId))
    }

    /// The conversation to continue: messages that were neither undone nor summarised. An
    /// unanswered
    /// call at the end is left out; one in the middle gets a placeholder result.
    pub fn load_history(&self, session: &SessionId) -> Result<ConversationHistory> {
        self.read(|transaction| {
            transaction.must_exist(session)?;
            Ok(complete(transaction.active_messages(session)?))
        })
    }
}

impl SessionTransaction<'_> {
    /// The messages that were neither undone nor summarised.
    pub(super) fn active_messages(&self, session: &SessionId) -> Result<Vec<StoredMessage>> {
        self.rows(
            "SELECT * FROM messages WHERE session_id = ?1 AND active IS NOT 0 ORDER BY id",
            params![session.as_str()],
            rows::message,
        )
    }

    /// Deactivates an unanswered call at the end of `messages`.
    pub(super) fn deactivate_unanswered_calls(
        &self,
        session: &SessionId,
        messages: &[StoredMessage],
    ) -> Result<()> {
        let Some(from) = unanswered_end(messages).and_then(|at| messages.get(at)) else {
            return Ok(());
        };
        self.execute(
            "UPDATE messages SET active = 0 WHERE session_id = ?1 AND id >= ?2 AND active IS NOT 0",
            params![session.as_str(), from.id.0],
        )?;
        self.recount(session)
    }

    /// Recounts messages and calls of the conversation.
    pub(super) fn recount(&self, session: &SessionId) -> Result<()> {
        let messages = self.active_messages(session)?;
        let calls: usize = messages
            .iter()
            .map(|stored| stored.message.call_count())
            .sum();
        self.execute(
            "UPDATE sessions SET message_count = ?2, tool_call_count = ?3 WHERE id = ?1",
            params![session.as_str(), count_of(messages.len()), count_of(calls)],
        )?;
        Ok(())
    }
}

/// Position of a last call that lacks a result, with nothing but results after it.
fn unanswered_end(messages: &[StoredMessage]) -> Option<usize> {
    let at = messages
        .iter()
        .rposition(|stored| stored.message.role != MessageRole::Tool)?;
    let call = messages.get(at)?;
    let results = messages.get(at + 1..)?;
    let is_open = call.message.role == MessageRole::Assistant
        && call.message.call_ids().iter().any(|id| {
            !results
                .iter()
                .any(|result| result.message.tool_call_id.as_deref() == Some(*id))
        });
    is_open.then_some(at)
}

fn complete(mut rows: Vec<StoredMessage>) -> ConversationHistory {
    let mut history = ConversationHistory::default();
    let end = unanswered_end(&rows).unwrap_or(rows.len());
    let cut: Vec<MessageId> = rows.drain(end..).map(|row| row.id).collect();
    // Unanswered calls of the latest answer, and that answer.
    let mut waiting: Vec<String> = Vec::new();
    let mut caller: Option<StoredMessage> = None;
    for row in rows {
        if row.message.role == MessageRole::Tool {
            let id = row.message.tool_call_id.as_deref().unwrap_or_default();
            match waiting.iter().position(|call| call == id) {
                Some(at) => {
                    waiting.remove(at);
                    history.messages.push(row);
                }
                None => history.left_out.push(row.id),
            }
            continue;
        }
        add_placeholders(&mut history, &mut waiting, caller.as_ref());
        waiting = row
            .message
            .call_ids()
            .into_iter()
            .map(str::to_owned)
            .collect();
        caller = (!waiting.is_empty()).then(|| row.clone());
        history.messages.push(row);
    }
    add_placeholders(&mut history, &mut waiting, caller.as_ref());
    history.left_out.extend(cut);
    history
}

/// Adds placeholder results for unanswered calls.
fn add_placeholders(
    history: &mut ConversationHistory,
    waiting: &mut Vec<String>,
    caller: Option<&StoredMessage>,
) {
    let Some(caller) = caller else { return };
    for id in waiting.drain(..) {
        let name = caller.message.name_of_call(&id).unwrap_or_default();
        history.messages.push(StoredMessage {
            message: SessionMessage {
                timestamp: caller.message.timestamp,
                ..SessionMessage::tool_result(id, name, LOST_RESULT)
            },
            ..caller.clone()
        });
    }
}
