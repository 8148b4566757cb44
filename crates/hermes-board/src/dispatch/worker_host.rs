//! The machine on which a dispatcher starts and terminates workers, as a trait: processes and
//! directories in the product, simulated ones in `hermes-board-sim`.

use crate::model::{RunId, Task, Termination, WorkerIdentity};
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
    /// The card, as it was claimed.
    pub task: &'a Task,
    /// The attempt.
    pub run: RunId,
    /// The claim.
    pub lock: &'a str,
    /// The workspace.
    pub workspace: &'a ResolvedWorkspace,
    /// Whether the worker reviews the card.
    pub review: bool,
    /// Whether the card was never claimed before, so that nothing of an earlier attempt can run.
    pub is_first_attempt: bool,
}

/// A started worker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpawnedWorker {
    /// Process id.
    pub pid: u32,
    /// Tells the worker from a later process with the same id.
    pub identity: Option<WorkerIdentity>,
}
