//! The list of things to do, found again in a history.

use hermes_store::rusqlite::params;
use serde_json::Value;

use super::Scope;
use super::cells::Cells;
use crate::{Content, Result, SessionId};

/// Answers looked at before a list is given up: those behind the newest are of damaged files.
const MOST_ANSWERS: i64 = 20;

impl Scope<'_> {
    /// The items of the newest answer of the `todo` tool, if there is one, also where a summary
    /// stands for it: what is to be done does not end with the words about it.
    pub(super) fn latest_todos(&self, session: &SessionId) -> Result<Option<Vec<Value>>> {
        // Older files do not name the tool; the shape of the answer does.
        let answers = self.rows(
            "SELECT content FROM messages
             WHERE session_id = ?1 AND role = 'tool' AND (active IS NOT 0 OR compacted = 1)
                 AND (tool_name = 'todo' OR tool_name IS NULL) AND instr(content, '\"todos\"')
             ORDER BY timestamp DESC, id DESC LIMIT ?2",
            params![session.as_str(), MOST_ANSWERS],
            |row| Ok(Cells(row).text("content").unwrap_or_default()),
        )?;
        let mut lists = answers
            .into_iter()
            .filter_map(|stored| items_of(&Content::decode(stored).text()));
        Ok(lists.next())
    }
}

/// The items of an answer. Words may follow it: notes of the agent, or of the person.
fn items_of(answer: &str) -> Option<Vec<Value>> {
    let mut values = serde_json::Deserializer::from_str(answer).into_iter::<Value>();
    let answer = values.next()?.ok()?;
    answer.get("todos")?.as_array().cloned()
}
