//! `response_store.db`: the latest responses, as the reference keeps them.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hermes_store::rusqlite::{OptionalExtension as _, params};
use hermes_store::{Commit, Database, OpenOptions};
use serde_json::{Map, Value, json};

use crate::clock::unix_time;
use crate::http::ApiError;

/// Responses that are kept.
const MOST: i64 = 100;

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
#[derive(Debug, Default)]
pub(crate) struct ResponseStore {
    open: Mutex<Option<(PathBuf, Database)>>,
}

impl ResponseStore {
    /// A stored response.
    pub(crate) fn get(&self, home: &Path, id: &str) -> Result<Option<StoredResponse>, ApiError> {
        self.with(home, |database| {
            let data = database.write_as(Commit::Logged, |connection| {
                let found = connection
                    .query_row(
                        "UPDATE responses SET accessed_at = ?2 WHERE response_id = ?1 RETURNING data",
                        params![id, unix_time()],
                        |row| row.get::<_, String>(0),
                    )
                    .optional();
                found.map_err(hermes_store::Error::sqlite("read", home))
            })?;
            Ok(data.and_then(|data| parse(&data)))
        })
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
        self.with(home, |database| {
            database.write_as(Commit::Logged, |connection| {
                let run = || -> hermes_store::rusqlite::Result<()> {
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
                    let too_many = "SELECT response_id FROM responses
                         ORDER BY accessed_at DESC, rowid DESC LIMIT -1 OFFSET ?1";
                    connection.execute(
                        &format!("DELETE FROM conversations WHERE response_id IN ({too_many})"),
                        params![MOST],
                    )?;
                    connection.execute(
                        &format!("DELETE FROM responses WHERE response_id IN ({too_many})"),
                        params![MOST],
                    )?;
                    Ok(())
                };
                run().map_err(hermes_store::Error::sqlite("write to", home))
            })
        })
    }

    /// Deletes a response; `false` if there is none.
    pub(crate) fn delete(&self, home: &Path, id: &str) -> Result<bool, ApiError> {
        self.with(home, |database| {
            database.write_as(Commit::Logged, |connection| {
                let run = || -> hermes_store::rusqlite::Result<usize> {
                    connection.execute(
                        "DELETE FROM conversations WHERE response_id = ?1",
                        params![id],
                    )?;
                    connection.execute("DELETE FROM responses WHERE response_id = ?1", params![id])
                };
                let deleted = run().map_err(hermes_store::Error::sqlite("write to", home))?;
                Ok(deleted > 0)
            })
        })
    }

    /// The latest response of a named conversation.
    pub(crate) fn latest_of(&self, home: &Path, name: &str) -> Result<Option<String>, ApiError> {
        self.with(home, |database| {
            let connection = database.connection();
            let found = connection
                .query_row(
                    "SELECT response_id FROM conversations WHERE name = ?1",
                    params![name],
                    |row| row.get(0),
                )
                .optional();
            found.map_err(hermes_store::Error::sqlite("read", home))
        })
    }

    fn with<T>(
        &self,
        home: &Path,
        work: impl FnOnce(&mut Database) -> hermes_store::Result<T>,
    ) -> Result<T, ApiError> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let path = home.join("response_store.db");
        if open.as_ref().is_none_or(|(known, _)| *known != path) {
            *open = Some((path.clone(), connect(&path).map_err(unavailable)?));
        }
        let Some((_, database)) = open.as_mut() else {
            return Err(ApiError::internal("no store of responses"));
        };
        let done = work(database);
        if done.is_err() {
            // A file that was replaced or mended is opened anew.
            *open = None;
        }
        done.map_err(unavailable)
    }
}

fn connect(path: &Path) -> hermes_store::Result<Database> {
    let database = Database::open(path, &OpenOptions::default())?;
    let made = database.connection().execute_batch(TABLES);
    made.map_err(hermes_store::Error::sqlite("write to", path))?;
    Ok(database)
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
#[path = "store_tests.rs"]
mod tests;
