//! The machine on which a dispatcher starts and terminates workers, as a trait: processes and
//! directories in the product, simulated ones in `hermes-board-sim`.

use crate::model::{HostRef, RunId, Task, Termination, WorkerIdentity};
use crate::plan::{Facts, WorkerRef};
use crate::store::{ResolvedWorkspace, Snapshot};

/// A machine on which workers run. Failures are sentences, which are recorded with the card.
pub trait WorkerHost {
    /// Notes which workers of this process have exited.
    fn reap(&mut self);

    /// Identity of this process, by which others can tell later whether it is still running.
    fn dispatcher_identity(&self) -> Option<WorkerIdentity> {
        None
    }

    /// This machine as attempts record it.
    fn host(&self) -> Option<HostRef> {
        None
    }

    /// What is known about workers and profiles. Changes nothing.
    fn observe(&self, board: &Snapshot) -> Facts;

    /// Terminates workers and everything they started, all at the same time; one report for each,
    /// in the same order.
    fn terminate(&mut self, workers: &[WorkerRef]) -> Vec<Termination>;

    /// Creates the workspace of a card.
    fn prepare_workspace(&mut self, task: &Task) -> Result<ResolvedWorkspace, String>;

    /// Starts a worker. What an earlier attempt left running is terminated first; if that fails, no
    /// worker is started.
    fn spawn(&mut self, request: &WorkerSpawnRequest<'_>) -> Result<SpawnedWorker, String>;
}

/// A worker to be started.
#[derive(Debug, Clone, Copy)]
pub struct WorkerSpawnRequest<'a> {
    pub task: &'a Task,
    pub run: RunId,
    pub lock: &'a str,
    pub workspace: &'a ResolvedWorkspace,
    pub review: bool,
    pub is_first_attempt: bool,
}

/// A started worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnedWorker {
    pub pid: u32,
    pub identity: Option<WorkerIdentity>,
}
