//! `response_store.db`: the latest responses, as the reference keeps them.

use std::path::Path;

use hermes_store::Commit;
use hermes_store::rusqlite::{OptionalExtension as _, params};
use serde_json::{Map, Value, json};

use crate::clock::unix_time;
use crate::database::HomeDatabase;
use crate::http::ApiError;

/// Responses that are kept.
const MOST: i64 = 100;

/// Bytes of them that are kept, the latest aside: each has the whole conversation before it.
const MOST_BYTES: i64 = 64 * 1024 * 1024;

/// What is beyond one of these measures, least recently used first to go.
const TOO_MANY: &str = "SELECT response_id FROM (
         SELECT response_id, row_number() OVER latest AS place,
             sum(octet_length(data)) OVER latest AS bytes
         FROM responses WINDOW latest AS (ORDER BY accessed_at DESC, rowid DESC))
     WHERE place > ?1 OR (place > 1 AND bytes > ?2)";

const TABLES: &str = "CREATE TABLE IF NOT EXISTS responses (
         response_id TEXT PRIMARY KEY, data TEXT NOT NULL, accessed_at REAL NOT NULL);
     CREATE TABLE IF NOT EXISTS conversations (
         name TEXT PRIMARY KEY, response_id TEXT NOT NULL);";

/// A response with what it takes to go on from it.
#[derive(Debug, Clone)]
pub(crate) struct StoredResponse {
    pub(crate) response: Value,
    /// Messages `{role, content}` up to and including the answer.
    pub(crate) history: Vec<Value>,
    pub(crate) instructions: Option<String>,
    pub(crate) session_id: Option<String>,
}

/// The stored responses of the profile.
#[derive(Debug)]
pub(crate) struct ResponseStore {
    database: HomeDatabase,
    most_bytes: i64,
}

impl ResponseStore {
    /// Touches nothing.
    pub(crate) fn new() -> Self {
        Self {
            database: HomeDatabase::new("response_store.db", TABLES),
            most_bytes: MOST_BYTES,
        }
    }

    /// A stored response.
    pub(crate) fn get(&self, home: &Path, id: &str) -> Result<Option<StoredResponse>, ApiError> {
        if !self.database.exists(home) {
            return Ok(None);
        }
        let data = self.database.write(home, Commit::Logged, |connection| {
            let found = connection.query_row(
                "UPDATE responses SET accessed_at = ?2 WHERE response_id = ?1 RETURNING data",
                params![id, unix_time()],
                |row| row.get::<_, String>(0),
            );
            found.optional()
        });
        Ok(data.map_err(unavailable)?.and_then(|data| parse(&data)))
    }

    /// Stores a response, under the name of its conversation if it has one.
    pub(crate) fn put(
        &self,
        home: &Path,
        id: &str,
        stored: &StoredResponse,
        conversation: Option<&str>,
    ) -> Result<(), ApiError> {
        let data = json!({
            "response": stored.response,
            "conversation_history": stored.history,
            "instructions": stored.instructions,
            "session_id": stored.session_id,
        });
        // The client is told the id: it survives a loss of power from here on.
        let put = self.database.write(home, Commit::Forced, |connection| {
            connection.execute(
                "INSERT INTO responses (response_id, data, accessed_at) VALUES (?1, ?2, ?3)
                 ON CONFLICT (response_id) DO UPDATE SET data = excluded.data,
                     accessed_at = excluded.accessed_at",
                params![id, data.to_string(), unix_time()],
            )?;
            if let Some(name) = conversation {
                connection.execute(
                    "INSERT INTO conversations (name, response_id) VALUES (?1, ?2)
                     ON CONFLICT (name) DO UPDATE SET response_id = excluded.response_id",
                    params![name, id],
                )?;
            }
            let limits = params![MOST, self.most_bytes];
            connection.execute(
                &format!("DELETE FROM conversations WHERE response_id IN ({TOO_MANY})"),
                limits,
            )?;
            connection.execute(
                &format!("DELETE FROM responses WHERE response_id IN ({TOO_MANY})"),
                limits,
            )
        });
        put.map(drop).map_err(unavailable)
    }

    /// Deletes a response; `false` if there is none.
    pub(crate) fn delete(&self, home: &Path, id: &str) -> Result<bool, ApiError> {
        if !self.database.exists(home) {
            return Ok(false);
        }
        let deleted = self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "DELETE FROM conversations WHERE response_id = ?1",
                params![id],
            )?;
            connection.execute("DELETE FROM responses WHERE response_id = ?1", params![id])
        });
        Ok(deleted.map_err(unavailable)? > 0)
    }

    /// The latest response of a named conversation.
    pub(crate) fn latest_of(&self, home: &Path, name: &str) -> Result<Option<String>, ApiError> {
        if !self.database.exists(home) {
            return Ok(None);
        }
        let found = self.database.read(home, |connection| {
            let found = connection.query_row(
                "SELECT response_id FROM conversations WHERE name = ?1",
                params![name],
                |row| row.get(0),
            );
            found.optional()
        });
        found.map_err(unavailable)
    }
}

fn unavailable(error: hermes_store::Error) -> ApiError {
    tracing::warn!(%error, "the store of responses cannot be used");
    ApiError::unavailable(error.to_string()).code("response_store_unavailable")
}

fn parse(data: &str) -> Option<StoredResponse> {
    let mut data: Map<String, Value> = serde_json::from_str(data).ok()?;
    let text = |value: Option<Value>| match value {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    Some(StoredResponse {
        response: data.remove("response")?,
        history: match data.remove("conversation_history") {
            Some(Value::Array(history)) => history,
            _ => Vec::new(),
        },
        instructions: text(data.remove("instructions")),
        session_id: text(data.remove("session_id")),
    })
}

#[cfg(test)]
#[path = "response_store_tests.rs"]
mod tests;
