//! Commands that a worker was refused.

use hermes_store::rusqlite::params;
use serde_json::json;

use crate::Result;
use crate::model::{RunId, TaskId};
use crate::sqlite::SqliteBoard;
use crate::sqlite::transaction::Transaction;
use crate::store::Applied;

/// Most characters of a command or reason in an event.
const MOST: usize = 500;

impl SqliteBoard {
    /// Notes that the worker of this attempt was refused a command. Does nothing once the attempt is
    /// over.
    pub fn note_denied(
        &mut self,
        id: &TaskId,
        run: RunId,
        command: &str,
        reason: &str,
    ) -> Result<Applied> {
        self.write(|tx| {
            if !tx.is_running_as(id, run)? {
                return Ok(Applied::LostRace);
            }
            let payload = json!({
                "command": hermes_text::shown(command, MOST),
                "reason": hermes_text::shown(reason, MOST),
            });
            tx.append(id, Some(run), "command_denied", payload)?;
            Ok(Applied::Yes)
        })
    }
}

impl Transaction<'_> {
    /// How many commands the worker of an attempt was refused.
    pub(super) fn denied_commands(&self, run: RunId) -> Result<i64> {
        let count = self.one(
            "SELECT count(*) FROM task_events WHERE run_id = ?1 AND kind = 'command_denied'",
            params![run.0],
            |row| row.get(0),
        )?;
        Ok(count.unwrap_or(0))
    }
}
