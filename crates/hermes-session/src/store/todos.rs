//! The todo list of a session, read from its tool results.

use hermes_store::rusqlite::params;
use serde_json::Value;

use super::SessionTransaction;
use super::rows::SessionRow;
use crate::{MessageContent, Result, SessionId};

/// Tool results tried; only damaged files need more than the newest.
const MAX_RESULTS: i64 = 20;

impl SessionTransaction<'_> {
    /// The items of the newest result of the `todo` tool, also if a summary has replaced it.
    pub(super) fn latest_todos(&self, session: &SessionId) -> Result<Option<Vec<Value>>> {
        // Older files do not store the tool name; the result is recognised by its form.
        let answers = self.rows(
            "SELECT content FROM messages
             WHERE session_id = ?1 AND role = 'tool' AND (active IS NOT 0 OR compacted = 1)
                 AND (tool_name = 'todo' OR tool_name IS NULL) AND instr(content, '\"todos\"')
             ORDER BY timestamp DESC, id DESC LIMIT ?2",
            params![session.as_str(), MAX_RESULTS],
            |row| Ok(SessionRow(row).text("content").unwrap_or_default()),
        )?;
        let mut lists = answers
            .into_iter()
            .filter_map(|stored| items_of(&MessageContent::decode(stored).text()));
        Ok(lists.next())
    }
}

/// The items of a result. Notes of the agent or the user may follow the JSON.
fn items_of(result: &str) -> Option<Vec<Value>> {
    let mut values = serde_json::Deserializer::from_str(result).into_iter::<Value>();
    values.next()?.ok()?.get("todos")?.as_array().cloned()
}
