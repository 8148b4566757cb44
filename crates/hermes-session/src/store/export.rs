//! Whole sessions as JSON: every column as it is, so that nothing a newer program added is lost.

use hermes_store::rusqlite::types::ValueRef;
use hermes_store::rusqlite::{self, Row, params};
use serde_json::{Map, Value};

use super::cells::text_of;
use super::{Scope, SessionStore};
use crate::error::unknown;
use crate::message::Content;
use crate::{Result, SessionId};

impl SessionStore {
    /// A session with its `messages`, also those that were taken back or summarised.
    pub fn export(&self, id: &SessionId) -> Result<Value> {
        self.read(|scope| scope.export(id))
    }
}

impl Scope<'_> {
    fn export(&self, id: &SessionId) -> Result<Value> {
        let mut session = self
            .row(
                "SELECT * FROM sessions WHERE id = ?1",
                params![id.as_str()],
                object,
            )?
            .ok_or_else(|| unknown(id))?;
        let messages = self.rows(super::history::ALL_IN_ORDER, params![id.as_str()], |row| {
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
            // What is no number in JSON is nothing.
            ValueRef::Real(number) => Value::from(number),
            other => Value::from(text_of(other)),
        };
        object.insert(name.to_owned(), value);
    }
    Ok(object)
}

/// Content and calls as what they are instead of as texts.
fn message(mut columns: Map<String, Value>) -> Value {
    if let Some(Value::String(stored)) = columns.get_mut("content") {
        let decoded = match Content::decode(std::mem::take(stored)) {
            Content::Text(text) => Value::String(text),
            Content::Parts(parts) => parts,
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
