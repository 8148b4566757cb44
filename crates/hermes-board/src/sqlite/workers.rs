//! The workers that a board has on record, and what they made.

use serde_json::json;

use crate::Result;
use crate::model::{RunId, TaskId, WorkerIdentity};
use crate::sqlite::StoredBoard;
use crate::sqlite::cells::Cells;

/// The worker of a card in progress, as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordedWorker {
    pub(crate) task: TaskId,
    pub(crate) run: Option<RunId>,
    pub(crate) pid: u32,
    /// `None` if another program recorded it.
    pub(crate) identity: Option<WorkerIdentity>,
}

impl StoredBoard {
    /// The recorded workers among these processes.
    pub(crate) fn recorded_workers(&self, pids: &[u32]) -> Result<Vec<RecordedWorker>> {
        self.look(|tx| {
            tx.all(
                "SELECT t.id, t.current_run_id, t.worker_pid, r.metadata
                 FROM tasks t LEFT JOIN task_runs r ON r.id = t.current_run_id
                 WHERE t.status = 'running'
                     AND t.worker_pid IN (SELECT CAST(value AS BIGINT) FROM json_each(?1))",
                [json!(pids).to_string()],
                |row| {
                    let mut cells = Cells::new(row);
                    Ok(RecordedWorker {
                        task: TaskId::new(cells.text()?),
                        run: cells.int_or_none()?.filter(|id| *id > 0).map(RunId),
                        pid: u32::try_from(cells.int()?).unwrap_or_default(),
                        identity: cells
                            .object()?
                            .and_then(|metadata| WorkerIdentity::from_metadata(&metadata)),
                    })
                },
            )
        })
    }

    /// Whether the worker of a card created another one.
    pub(crate) fn is_created_by_worker(&self, own: &TaskId, card: &TaskId) -> Result<bool> {
        self.look(|tx| tx.is_created_by_worker(own, card))
    }
}
