//! The actions of a plan, in the order in which they are applied.

use crate::model::{Assignee, TaskId, WorkerExit};
use crate::plan::{Facts, Report, WorkerRef};
use crate::store::{ClaimFrom, ClaimSeen, FailurePolicy, Guarded, Silence, Snapshot};

/// One action. Each becomes at most one write to the board, after a worker has been terminated where
/// `end` asks for it, except [`Action::Start`], which takes several.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Records a live worker that nobody recorded.
    Adopt { worker: WorkerRef },
    /// Extends the claim of a live worker.
    Extend {
        task: TaskId,
        seen: ClaimSeen,
        until: i64,
    },
    /// Reclaims a card whose claim expired.
    Reclaim {
        task: TaskId,
        seen: ClaimSeen,
        /// Whether the worker is alive without heartbeats.
        heartbeat_stale: bool,
        end: EndWorker,
    },
    /// Reclaims a card whose worker sends no heartbeats.
    ReclaimSilent {
        task: TaskId,
        seen: ClaimSeen,
        silence: Silence,
        end: EndWorker,
    },
    /// Records the exit of a worker that left its card running.
    RecordExit {
        task: TaskId,
        seen: ClaimSeen,
        exit: WorkerExit,
        policy: FailurePolicy,
        /// What the worker left running.
        end: EndWorker,
    },
    /// Terminates a worker that exceeded its time limit.
    TimeOut {
        task: TaskId,
        seen: ClaimSeen,
        elapsed_seconds: i64,
        limit_seconds: i64,
        policy: FailurePolicy,
        end: EndWorker,
    },
    /// Wakes scheduled cards whose time has come.
    WakeDue { expected: Vec<TaskId> },
    /// Promotes cards whose parents are finished.
    Promote {
        expected: Vec<TaskId>,
        failure_limit: i64,
    },
    /// Notes which cards the respawn guard holds back.
    NoteGuarded { guarded: Vec<Guarded> },
    /// Assigns a card to the configured profile.
    AssignDefault { task: TaskId, assignee: Assignee },
    /// Demotes a ready card with an open parent.
    SendBack { task: TaskId },
    /// Claims a card and starts a worker for it.
    Start {
        task: TaskId,
        from: ClaimFrom,
        /// What an earlier attempt left running.
        leftover: Option<WorkerRef>,
    },
}

/// What is to be done about a worker before its card is reclaimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndWorker {
    /// Nothing: the worker runs on another host, or never started.
    OutOfReach,
    /// Nothing: the worker is gone.
    Gone(WorkerRef),
    /// Terminate the worker and everything it started.
    Needed(WorkerRef),
}

/// What a tick would do, and what a dry run reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    pub actions: Vec<Action>,
    /// What will have happened if nobody interferes and every process obeys.
    pub report: Report,
}

impl Action {
    /// Whether the action is about a running card.
    pub const fn is_sweep(&self) -> bool {
        matches!(
            self,
            Self::Adopt { .. }
                | Self::Extend { .. }
                | Self::Reclaim { .. }
                | Self::ReclaimSilent { .. }
                | Self::RecordExit { .. }
                | Self::TimeOut { .. }
        )
    }

    /// The worker that has to be terminated first.
    pub fn worker_to_end(&self) -> Option<&WorkerRef> {
        match self {
            Self::Reclaim { end, .. }
            | Self::ReclaimSilent { end, .. }
            | Self::RecordExit { end, .. }
            | Self::TimeOut { end, .. } => match end {
                EndWorker::Needed(worker) => Some(worker),
                EndWorker::OutOfReach | EndWorker::Gone(_) => None,
            },
            Self::Start { leftover, .. } => leftover.as_ref(),
            Self::Adopt { .. }
            | Self::Extend { .. }
            | Self::WakeDue { .. }
            | Self::Promote { .. }
            | Self::NoteGuarded { .. }
            | Self::AssignDefault { .. }
            | Self::SendBack { .. } => None,
        }
    }
}

/// The input of the planner.
#[derive(Debug, Clone, Copy)]
pub(super) struct PlanInput<'a> {
    pub(super) board: &'a Snapshot,
    pub(super) facts: &'a Facts,
    pub(super) limits: &'a crate::plan::Limits,
    pub(super) now: i64,
}
