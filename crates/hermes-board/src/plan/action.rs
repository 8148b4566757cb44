//! The actions of a plan, in the order in which they are applied.

use crate::model::{Assignee, TaskId};
use crate::plan::{Facts, Report, WorkerRef};
use crate::store::{AttemptEnd, ClaimFrom, ClaimSeen, Snapshot, WaitNote};

/// One action. Each becomes at most one write to the board, after a worker has been terminated where
/// `worker` asks for it, except [`Action::Start`], which takes several.
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
    /// Ends the attempt at a running card.
    EndAttempt {
        task: TaskId,
        seen: ClaimSeen,
        end: AttemptEnd,
        worker: EndWorker,
    },
    /// Wakes scheduled cards whose time has come.
    WakeDue { expected: Vec<TaskId> },
    /// Promotes cards whose parents are finished.
    Promote {
        expected: Vec<TaskId>,
        failure_limit: i64,
    },
    /// Notes on cards why they wait.
    NoteWaiting { notes: Vec<WaitNote> },
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
    /// Whether the limit of a profile counts over all boards.
    pub counts_other_boards: bool,
    /// The time of the board when it was made.
    pub made_at: i64,
    /// The name of the host that it is for.
    pub host: String,
}

impl Action {
    /// Whether the action is about a running card.
    pub const fn is_sweep(&self) -> bool {
        matches!(
            self,
            Self::Adopt { .. } | Self::Extend { .. } | Self::EndAttempt { .. }
        )
    }

    /// The worker that has to be terminated first.
    pub fn worker_to_end(&self) -> Option<&WorkerRef> {
        match self {
            Self::EndAttempt {
                worker: EndWorker::Needed(worker),
                ..
            } => Some(worker),
            Self::Start { leftover, .. } => leftover.as_ref(),
            Self::Adopt { .. }
            | Self::Extend { .. }
            | Self::EndAttempt { .. }
            | Self::WakeDue { .. }
            | Self::Promote { .. }
            | Self::NoteWaiting { .. }
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
