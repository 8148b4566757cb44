//! The priority of cards.

use serde_json::json;

use crate::Result;
use crate::model::{Status, TaskId};
use crate::sqlite::StoredBoard;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;

impl StoredBoard {
    /// Raises or lowers the priority of a card that is not archived; returns the new one.
    pub fn prioritize(&mut self, id: &TaskId, by: i64) -> Result<i64> {
        self.write(|tx| tx.prioritize(id, by))
    }
}

impl Transaction<'_> {
    fn prioritize(&self, id: &TaskId, by: i64) -> Result<i64> {
        let open = [
            Status::Triage,
            Status::Todo,
            Status::Scheduled,
            Status::Ready,
            Status::Running,
            Status::Blocked,
            Status::Review,
            Status::Done,
        ];
        self.card_state(id)?
            .require_status(id, "change the priority of", &open)?;
        let before = self.task(id)?.map_or(0, |task| task.priority);
        let priority = before.saturating_add(by);
        self.execute(
            "UPDATE tasks SET priority = ?2 WHERE id = ?1",
            params![id.as_str(), priority],
        )?;
        self.append(id, None, "reprioritized", json!({"priority": priority}))?;
        Ok(priority)
    }
}
