//! Workers that this process started; only their parent learns how they exit.
//!
//! A long-running dispatcher keeps them across ticks and boards. Children that other parts of the
//! program started are never waited for.

use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;

use hermes_home::ProfileName;
use hermes_proc::{Child, ExitStatus};

use crate::boards::Board;
use crate::dispatch::local::exit_record::write_record;
use crate::model::{RunId, TaskId, WorkerExit};

/// Ends that are remembered.
const REMEMBERED: usize = 4096;

/// Workers of this process that have not been reaped, and how others exited.
#[derive(Debug, Default)]
pub struct Children {
    workers: Vec<OwnWorker>,
    ended: VecDeque<(Attempt, WorkerExit)>,
    /// Profiles of those that were killed.
    killed: BTreeSet<ProfileName>,
}

/// A worker that this process started.
#[derive(Debug)]
pub(super) struct OwnWorker {
    pub(super) attempt: Attempt,
    pub(super) profile: ProfileName,
    pub(super) exit_record: PathBuf,
    pub(super) child: Child,
}

/// An attempt at a card of any board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Attempt {
    pub(super) database: PathBuf,
    pub(super) task: TaskId,
    pub(super) run: RunId,
}

impl Children {
    /// How many have not been waited for.
    pub fn len(&self) -> usize {
        self.workers.len()
    }

    /// Whether all have been waited for.
    pub fn is_empty(&self) -> bool {
        self.workers.is_empty()
    }

    /// Takes note of workers that have ended.
    pub fn reap(&mut self, now: i64) {
        let (over, living): (Vec<_>, Vec<_>) = std::mem::take(&mut self.workers)
            .into_iter()
            .partition(|worker| worker.child.peek().is_some());
        self.workers = living;
        for mut worker in over {
            let Ok(ended) = worker.child.wait() else {
                // Some other part of the program reaped it; its exit is unknown.
                continue;
            };
            let exit = exit_of(ended);
            if matches!(exit, WorkerExit::Signal(_)) {
                self.killed.insert(worker.profile);
            }
            let attempt = worker.attempt;
            if let Err(error) = write_record(&worker.exit_record, attempt.run, exit, now) {
                tracing::warn!(%error, task = attempt.task.as_str(), "could not record the exit of a worker");
            }
            if self.ended.len() >= REMEMBERED {
                self.ended.pop_front();
            }
            self.ended.push_back((attempt, exit));
        }
    }

    pub(super) fn add(&mut self, worker: OwnWorker) {
        self.workers.push(worker);
    }

    /// Profiles whose workers were killed since this was last asked.
    pub(crate) fn take_killed(&mut self) -> BTreeSet<ProfileName> {
        std::mem::take(&mut self.killed)
    }

    /// Whether this process is a child of ours that has not been waited for: then its number is its
    /// own.
    pub(super) fn has(&self, pid: u32) -> bool {
        self.workers.iter().any(|worker| worker.child.pid() == pid)
    }

    pub(super) fn exit_of(&self, board: &Board, task: &TaskId, run: RunId) -> Option<WorkerExit> {
        let is_meant = |attempt: &Attempt| {
            attempt.run == run && attempt.task == *task && attempt.database == board.database
        };
        let heard = self.ended.iter().rev().find(|(one, _)| is_meant(one));
        heard.map(|(_, exit)| *exit).or_else(|| {
            let mut workers = self.workers.iter();
            let worker = workers.find(|worker| is_meant(&worker.attempt))?;
            worker.child.peek().map(exit_of)
        })
    }
}

fn exit_of(ended: ExitStatus) -> WorkerExit {
    match ended {
        ExitStatus::Exited(code) => WorkerExit::Code(code),
        ExitStatus::Signalled(signal) => WorkerExit::Signal(signal),
    }
}
