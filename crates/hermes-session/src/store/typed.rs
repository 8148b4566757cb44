//! What people have typed, in all sessions.

use std::collections::HashSet;

use hermes_store::rusqlite::params;

use super::rows::SessionRow;
use super::sql_fragments::{like_within, session_mark};
use super::{SessionStore, SessionTransaction};
use crate::Result;
use crate::message::{MessageContent, MessageRole, SessionMessage};

/// Messages that are looked at, from the newest on.
const SCANNED: i64 = 100_000;
/// A longer message was not typed.
const MAX_BYTES: i64 = 64 * 1024;
/// Rows read for each entry that is wanted: a copy of a session repeats its messages.
const ROWS_PER_ENTRY: usize = 8;

/// A message of a person.
#[derive(Debug, Clone, PartialEq)]
pub struct TypedMessage {
    /// Seconds since 1970.
    pub at: f64,
    pub text: String,
}

impl SessionStore {
    /// Messages of people that contain all the words, newest first, each text once.
    pub fn typed_messages(&self, words: &[String], most: usize) -> Result<Vec<TypedMessage>> {
        let rows = self.read(|transaction| {
            transaction.typed_rows(words, most.saturating_mul(ROWS_PER_ENTRY))
        })?;
        let mut seen = HashSet::new();
        let mut found = Vec::new();
        for (at, content) in rows {
            let message = SessionMessage::user(MessageContent::decode(content));
            if message.is_summary() {
                continue;
            }
            let text = message.text().trim().to_owned();
            if !text.is_empty() && seen.insert(text.clone()) {
                found.push(TypedMessage { at, text });
                if found.len() == most {
                    break;
                }
            }
        }
        Ok(found)
    }
}

impl SessionTransaction<'_> {
    fn typed_rows(&self, words: &[String], most: usize) -> Result<Vec<(f64, String)>> {
        let patterns: Vec<String> = words.iter().map(|word| like_within(word)).collect();
        self.rows(
            concat!(
                "SELECT m.content, m.timestamp FROM messages m JOIN sessions s ON s.id = m.session_id
                 WHERE m.id > (SELECT COALESCE(MAX(id), 0) FROM messages) - ?3
                     AND m.role = ?4 AND length(m.content) <= ?5
                     AND COALESCE(s.source, '') NOT IN ('subagent', 'tool', 'cron')
                     AND ",
                session_mark!("s", "_delegate_from"),
                " IS NULL
                     AND NOT EXISTS (SELECT 1 FROM json_each(?1) AS word
                                     WHERE m.content NOT LIKE word.value ESCAPE '\\')
                 ORDER BY m.id DESC LIMIT ?2"
            ),
            params![
                serde_json::Value::from(patterns).to_string(),
                i64::try_from(most).unwrap_or(i64::MAX),
                SCANNED,
                MessageRole::User.as_str(),
                MAX_BYTES,
            ],
            |row| {
                let row = SessionRow(row);
                Ok((row.real("timestamp").unwrap_or_default(), row.text("content").unwrap_or_default()))
            },
        )
    }
}
