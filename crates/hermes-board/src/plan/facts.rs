//! What a plan needs to know besides the board.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::model::{Obstacle, RunId, TaskId, WorkerExit, WorkerIdentity};

/// Processes and profiles, as they were when the snapshot was taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// What is known of the worker of each running card. A card that is not in here is treated as
    /// [`WorkerFact::OtherHost`].
    pub workers: BTreeMap<TaskId, WorkerFact>,
    /// Cards that are not running while processes of an earlier attempt are alive on this host.
    pub leftovers: BTreeMap<TaskId, WorkerRef>,
    /// Profiles that workers can be started for.
    pub profiles: BTreeSet<String>,
    /// What stands in the way of workers of these cards.
    pub obstacles: HashMap<TaskId, Obstacle>,
    /// Cards in progress on other boards, by profile, as far as they count here.
    pub running_elsewhere: BTreeMap<String, usize>,
    /// This host, as far as cards can ask for it.
    pub host: OwnHost,
}

/// The host of a dispatcher.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnHost {
    /// Its id; `None` before it was registered anywhere.
    pub id: Option<String>,
    pub name: String,
    pub labels: Vec<String>,
}

impl Facts {
    /// What is known of a running card's worker.
    pub fn worker(&self, task: &TaskId) -> WorkerFact {
        self.workers
            .get(task)
            .cloned()
            .unwrap_or(WorkerFact::OtherHost)
    }
}

/// What is known of the worker of a running card.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WorkerFact {
    /// The worker was started on another host: only its claim is known.
    OtherHost,
    /// The card is claimed on this host, no worker is recorded and none was found.
    NotStarted,
    /// As [`Self::NotStarted`], and the dispatcher that claimed the card has exited.
    Abandoned,
    Alive {
        /// Seconds since it started, independent of the wall clock.
        age_seconds: Option<i64>,
    },
    /// The worker is alive, but its dispatcher died before it recorded the worker.
    Unrecorded { worker: WorkerRef },
    /// The worker exited, but processes that it started are alive.
    Survivors { exit: WorkerExit },
    /// No process of the worker is left.
    Gone { exit: WorkerExit },
    /// The machine was restarted since.
    LostInRestart,
}

/// A worker as the board knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkerRef {
    pub task: TaskId,
    pub run: Option<RunId>,
    pub pid: Option<u32>,
    pub identity: Option<WorkerIdentity>,
}
