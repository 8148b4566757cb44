//! What a dispatcher does besides writing to the board: look at processes, make directories, start
//! workers and end them.

use crate::model::{RunId, Task, Termination, WorkerIdentity};
use crate::plan::{Facts, WorkerRef};
use crate::store::{ResolvedWorkspace, Snapshot};

/// A machine on which workers run. Failures are sentences: they are recorded with the card.
pub trait Workshop {
    /// Takes note of workers of ours that have ended.
    fn reap(&mut self);

    /// This process, for those who must know later whether it is still there.
    fn dispatcher(&self) -> Option<WorkerIdentity> {
        None
    }

    /// What is known about workers and profiles. Changes nothing.
    fn look(&self, board: &Snapshot) -> Facts;

    /// Ends workers and everything they started, all at the same time; one report for each, in the
    /// same order.
    fn end(&mut self, workers: &[WorkerRef]) -> Vec<Termination>;

    /// Makes the directory in which a card is worked on.
    fn prepare(&mut self, task: &Task) -> Result<ResolvedWorkspace, String>;

    /// Starts a worker. What an earlier attempt left running is ended first; if that fails, so does
    /// this.
    fn start(&mut self, order: &Order<'_>) -> Result<NewWorker, String>;
}

/// What a worker is started for.
#[derive(Debug, Clone, Copy)]
pub struct Order<'a> {
    /// The card, as it was claimed.
    pub task: &'a Task,
    /// The attempt.
    pub run: RunId,
    /// Text of the claim.
    pub lock: &'a str,
    /// Where it works.
    pub workspace: &'a ResolvedWorkspace,
    /// Whether it reviews what was done.
    pub review: bool,
    /// Whether the card was never claimed before, so that nothing of an earlier attempt can run.
    pub is_first_attempt: bool,
}

/// A worker that was started.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewWorker {
    /// Its number.
    pub pid: u32,
    /// What tells it from a later process with that number.
    pub identity: Option<WorkerIdentity>,
}
