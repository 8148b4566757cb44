//! What a plan is told about the world outside the board.

use std::collections::{BTreeMap, BTreeSet};

use crate::model::{RunId, TaskId, WorkerExit, WorkerIdentity};

/// Processes and profiles, as they were when the snapshot was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What is known of the worker of each running card. A card that is not in here is treated as
    /// [`WorkerFact::Elsewhere`].
    pub workers: BTreeMap<TaskId, WorkerFact>,
    /// Cards that nobody works on while processes of an earlier attempt live on this machine.
    pub leftovers: BTreeMap<TaskId, WorkerRef>,
    /// Names that workers can be started for.
    pub profiles: BTreeSet<String>,
}

impl Facts {
    /// What is known of a running card's worker.
    pub fn worker(&self, task: &TaskId) -> WorkerFact {
        self.workers
            .get(task)
            .cloned()
            .unwrap_or(WorkerFact::Elsewhere)
    }
}

/// What is known of the worker of a running card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerFact {
    /// It was started on another machine: only its claim tells about it.
    Elsewhere,
    /// The card is claimed on this machine, no worker is recorded and none was found.
    NotStarted,
    /// The same, and whoever was about to start one has ended.
    Abandoned,
    /// It lives.
    Alive {
        /// Seconds since it started, by a clock that nobody sets.
        age_seconds: Option<i64>,
    },
    /// It lives, but whoever started it died before saying so.
    Unrecorded {
        /// The worker, as it was found.
        worker: WorkerRef,
    },
    /// It ended, but processes that it started live.
    Survivors {
        /// How it ended.
        exit: WorkerExit,
    },
    /// Nothing of it is left.
    Gone {
        /// How it ended.
        exit: WorkerExit,
    },
    /// The machine was started anew since.
    LostInRestart,
}

/// One worker, as far as the board knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRef {
    /// Its card.
    pub task: TaskId,
    /// Its attempt.
    pub run: Option<RunId>,
    /// Its number.
    pub pid: Option<u32>,
    /// What tells it from a later process with that number.
    pub identity: Option<WorkerIdentity>,
}
