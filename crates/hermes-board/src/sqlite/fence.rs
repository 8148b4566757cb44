//! The fence around a worker: once its attempt is over without its doing, nothing it writes counts.

use crate::model::{Outcome, RunId, TaskId};
use crate::sqlite::cells::Cells;
use crate::sqlite::statements::params;
use crate::sqlite::transaction::Transaction;
use crate::{Error, Result};

/// The attempt that a connection belongs to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Fence {
    pub(super) task: TaskId,
    pub(super) run: RunId,
}

impl Transaction<'_> {
    /// Refuses a worker whose card was reclaimed. One that completed, blocked or scheduled its card
    /// itself has lost nothing, until the next attempt begins.
    pub(super) fn must_stand(&self, fence: &Fence) -> Result<()> {
        let Fence { task, run } = fence;
        let found = self.one(
            "SELECT t.current_run_id, r.outcome FROM task_runs r JOIN tasks t ON t.id = r.task_id
             WHERE r.id = ?1 AND r.task_id = ?2",
            params![run.0, task.as_str()],
            |row| {
                let mut cells = Cells::new(row);
                let current = cells.int_or_none()?.filter(|id| *id > 0).map(RunId);
                Ok((current, Outcome::parse(&cells.text()?)))
            },
        )?;
        let current = found.and_then(|(current, _)| current);
        let by_itself = [Outcome::Completed, Outcome::Blocked, Outcome::Scheduled];
        let stands = match found {
            Some((Some(current), _)) => current == *run,
            Some((None, outcome)) => outcome.is_some_and(|outcome| by_itself.contains(&outcome)),
            None => false,
        };
        if stands {
            return Ok(());
        }
        Err(Error::StaleRun {
            id: task.clone(),
            action: "work on",
            expected: *run,
            current,
        })
    }
}
