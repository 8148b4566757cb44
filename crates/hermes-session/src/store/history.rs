//! Reading a conversation back, whole: every call with its result, every result with its call.

use hermes_store::rusqlite::params;

use serde_json::Value;

use super::{Scope, SessionStore, cells, count_of};
use crate::message::{Message, Role, StoredMessage};
use crate::session::Session;
use crate::{MessageId, Result, SessionId};

/// What stands for a result that was never stored.
const LOST_RESULT: &str = "[No result of this call was stored; it may or may not have run.]";

/// All messages of a session as they were said: one that was replaced stands before what took its
/// place, which has its time and its old number.
pub(super) const ALL_IN_ORDER: &str = "SELECT * FROM messages AS m WHERE session_id = ?1
 ORDER BY CASE WHEN compacted = 1 THEN (SELECT MIN(twin.id) FROM messages AS twin
         WHERE twin.session_id = m.session_id AND twin.timestamp = m.timestamp)
     ELSE id END, active, id";

/// The conversation as it stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct History {
    /// Its messages. Each call is followed by its results and each result follows its call.
    pub messages: Vec<StoredMessage>,
    /// Rows that are left out: calls at the end that were never answered, results without a call.
    pub left_out: Vec<MessageId>,
}

/// A session that is gone on with.
#[derive(Debug, Clone)]
pub struct Resumed {
    /// Its row.
    pub session: Session,
    /// The conversation as it stands.
    pub history: History,
    /// What was on its list of things to do, if it had one.
    pub todos: Option<Vec<Value>>,
}

impl SessionStore {
    /// Opens a session again, as [`SessionStore::reopen_session`] does, and gives what is needed to
    /// go on with it.
    pub fn resume(&mut self, id: &SessionId) -> Result<Resumed> {
        self.note(|scope| {
            let (session, messages) = scope.reopen(id)?;
            Ok(Resumed {
                session,
                history: whole(messages),
                todos: scope.latest_todos(id)?,
            })
        })
    }

    /// The conversation to go on with: messages that were neither taken back nor summarised. An
    /// unanswered call at the end is left out; one in the middle gets a result that says so.
    pub fn load_history(&self, session: &SessionId) -> Result<History> {
        self.read(|scope| {
            scope.must_exist(session)?;
            Ok(whole(scope.messages(session, true)?))
        })
    }

    /// All messages of a session in their order, also those that are not active.
    pub fn all_messages(&self, session: &SessionId) -> Result<Vec<StoredMessage>> {
        self.read(|scope| {
            scope.must_exist(session)?;
            scope.messages(session, false)
        })
    }
}

impl Scope<'_> {
    pub(super) fn messages(
        &self,
        session: &SessionId,
        active_only: bool,
    ) -> Result<Vec<StoredMessage>> {
        let sql = if active_only {
            "SELECT * FROM messages WHERE session_id = ?1 AND active IS NOT 0 ORDER BY id"
        } else {
            ALL_IN_ORDER
        };
        self.rows(sql, params![session.as_str()], cells::message)
    }

    /// Takes an unanswered call at the end out of the conversation that consists of `messages`.
    pub(super) fn put_aside_open_calls(
        &self,
        session: &SessionId,
        messages: &[StoredMessage],
    ) -> Result<()> {
        let Some(from) = open_end(messages).and_then(|at| messages.get(at)) else {
            return Ok(());
        };
        self.execute(
            "UPDATE messages SET active = 0 WHERE session_id = ?1 AND id >= ?2 AND active IS NOT 0",
            params![session.as_str(), from.id.0],
        )?;
        self.recount(session)
    }

    /// Counts messages and calls of the conversation anew.
    pub(super) fn recount(&self, session: &SessionId) -> Result<()> {
        let messages = self.messages(session, true)?;
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

/// Where a last call stands that lacks a result, with nothing but results behind it.
fn open_end(messages: &[StoredMessage]) -> Option<usize> {
    let at = messages
        .iter()
        .rposition(|stored| stored.message.role != Role::Tool)?;
    let call = messages.get(at)?;
    let results = messages.get(at + 1..)?;
    let is_open = call.message.role == Role::Assistant
        && call.message.call_ids().iter().any(|id| {
            !results
                .iter()
                .any(|result| result.message.tool_call_id.as_deref() == Some(*id))
        });
    is_open.then_some(at)
}

fn whole(mut rows: Vec<StoredMessage>) -> History {
    let mut history = History::default();
    let end = open_end(&rows).unwrap_or(rows.len());
    let cut: Vec<MessageId> = rows.drain(end..).map(|row| row.id).collect();
    // Calls of the last answer that wait for their results, and the answer itself.
    let mut waiting: Vec<String> = Vec::new();
    let mut caller: Option<StoredMessage> = None;
    for row in rows {
        if row.message.role == Role::Tool {
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
        close(&mut history, &mut waiting, caller.as_ref());
        waiting = row
            .message
            .call_ids()
            .into_iter()
            .map(str::to_owned)
            .collect();
        caller = (!waiting.is_empty()).then(|| row.clone());
        history.messages.push(row);
    }
    close(&mut history, &mut waiting, caller.as_ref());
    history.left_out.extend(cut);
    history
}

/// Answers what is still waiting.
fn close(history: &mut History, waiting: &mut Vec<String>, caller: Option<&StoredMessage>) {
    let Some(caller) = caller else { return };
    for id in waiting.drain(..) {
        let name = caller.message.name_of_call(&id).unwrap_or_default();
        history.messages.push(StoredMessage {
            message: Message {
                timestamp: caller.message.timestamp,
                ..Message::tool_result(id, name, LOST_RESULT)
            },
            ..caller.clone()
        });
    }
}
