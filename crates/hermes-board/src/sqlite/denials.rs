//! Commands that a worker was refused.

use serde_json::json;

use crate::Result;
use crate::model::{RunId, TaskId};
use crate::sqlite::StoredBoard;
use crate::store::Applied;

/// Most characters of a command or reason in an event.
const MOST: usize = 500;

impl StoredBoard {
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
