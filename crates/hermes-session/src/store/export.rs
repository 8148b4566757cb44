//! Whole sessions as JSON: every column unchanged, also those a newer program added.

use hermes_store::rusqlite::types::ValueRef;
use hermes_store::rusqlite::{self, Row, params};
use serde_json::{Map, Value};

use super::rows::text_of;
use super::{SessionStore, SessionTransaction};
use crate::message::MessageContent;
use crate::{Result, SessionId};

/// All messages of a session in conversation order: a replaced message comes before its
/// replacement, which has its timestamp and its former id.
const ALL_MESSAGES: &str = "SELECT * FROM messages AS m WHERE session_id = ?1
 ORDER BY CASE WHEN compacted = 1 THEN (SELECT MIN(twin.id) FROM messages AS twin
         WHERE twin.session_id = m.session_id AND twin.timestamp = m.timestamp)
     ELSE id END, active, id";

impl SessionStore {
    /// A session with its `messages`, including undone and summarised ones.
    pub fn export(&self, id: &SessionId) -> Result<Value> {
        self.read(|transaction| transaction.export(id))
    }
}

impl SessionTransaction<'_> {
    fn export(&self, id: &SessionId) -> Result<Value> {
        let mut session = self
            .row(
                "SELECT * FROM sessions WHERE id = ?1",
                params![id.as_str()],
                object,
            )?
            .ok_or_else(|| id.unknown())?;
        let messages = self.rows(ALL_MESSAGES, params![id.as_str()], |row| {
            object(row).map(message)
        })?;
        session.insert("messages".to_owned(), Value::Array(messages));
        Ok(Value::Object(session))
    }
}

fn object(row: &Row<'_>) -> rusqlite::Result<Map<String, Value>> {
    let statement = row.as_ref();
    let mut object = Map::new();
    for (at, name) in statement.column_names().enumerate() {
        let value = match row.get_ref(at)? {
            ValueRef::Null => Value::Null,
            ValueRef::Integer(number) => Value::from(number),
            // NaN and infinities become null.
            ValueRef::Real(number) => Value::from(number),
            other => Value::from(text_of(other)),
        };
        object.insert(name.to_owned(), value);
    }
    Ok(object)
}

/// Content and tool calls as JSON instead of text.
fn message(mut columns: Map<String, Value>) -> Value {
    if let Some(Value::String(stored)) = columns.get_mut("content") {
        let decoded = match MessageContent::decode(std::mem::take(stored)) {
            MessageContent::Text(text) => Value::String(text),
            MessageContent::Parts(parts) => parts,
        };
        columns.insert("content".to_owned(), decoded);
    }
    if let Some(Value::String(stored)) = columns.get("tool_calls")
        && let Ok(calls) = serde_json::from_str::<Value>(stored)
    {
        columns.insert("tool_calls".to_owned(), calls);
    }
    Value::Object(columns)
}
