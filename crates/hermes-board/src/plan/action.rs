//! What is to be done, in the order in which it is done.

use crate::model::{Assignee, TaskId, WorkerExit};
use crate::plan::{Facts, Report, WorkerRef};
use crate::store::{ClaimFrom, ClaimSeen, FailurePolicy, Guarded, Silence, Snapshot};

/// One thing to do. Each becomes at most one write to the board, after a worker has been ended where
/// `end` asks for it, except [`Action::Start`], which is a short story of its own.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Records a worker that lives and that nobody recorded.
    Adopt {
        /// The worker.
        worker: WorkerRef,
    },
    /// Prolongs the claim of a worker that lives.
    Extend {
        /// The card.
        task: TaskId,
        /// Its claim.
        seen: ClaimSeen,
        /// The new end of it.
        until: i64,
    },
    /// Takes back a card whose claim ran out.
    Reclaim {
        /// The card.
        task: TaskId,
        /// Its claim.
        seen: ClaimSeen,
        /// Whether its worker lives without giving a sign of it.
        heartbeat_stale: bool,
        /// Its worker.
        end: EndWorker,
    },
    /// Takes back a card whose worker gave no sign of life.
    ReclaimSilent {
        /// The card.
        task: TaskId,
        /// Its claim.
        seen: ClaimSeen,
        /// How silent it was.
        silence: Silence,
        /// Its worker.
        end: EndWorker,
    },
    /// Records how a worker ended that left its card in progress.
    RecordExit {
        /// The card.
        task: TaskId,
        /// Its claim.
        seen: ClaimSeen,
        /// How it ended.
        exit: WorkerExit,
        /// When failures are too many.
        policy: FailurePolicy,
        /// What it left running.
        end: EndWorker,
    },
    /// Ends a worker that took too long.
    TimeOut {
        /// The card.
        task: TaskId,
        /// Its claim.
        seen: ClaimSeen,
        /// How long it ran.
        elapsed_seconds: i64,
        /// How long it might.
        limit_seconds: i64,
        /// When failures are too many.
        policy: FailurePolicy,
        /// The worker.
        end: EndWorker,
    },
    /// Wakes parked cards whose moment has come.
    WakeDue {
        /// Those that are expected to wake.
        expected: Vec<TaskId>,
    },
    /// Makes ready what waits for nothing any more.
    Promote {
        /// Those that are expected to be ready.
        expected: Vec<TaskId>,
        /// When failures are too many.
        failure_limit: i64,
    },
    /// Notes which cards the guard holds back.
    NoteGuarded {
        /// The cards.
        guarded: Vec<Guarded>,
    },
    /// Gives a card to the configured profile.
    AssignDefault {
        /// The card.
        task: TaskId,
        /// The profile.
        assignee: Assignee,
    },
    /// Lets a ready card with an open parent wait for it again.
    SendBack {
        /// The card.
        task: TaskId,
    },
    /// Claims a card and starts a worker for it.
    Start {
        /// The card.
        task: TaskId,
        /// Which queue it stands in.
        from: ClaimFrom,
        /// What an earlier attempt left running.
        leftover: Option<WorkerRef>,
    },
}

/// What is to be done about a worker before its card is taken back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndWorker {
    /// Nothing: it runs elsewhere, or it never started.
    OutOfReach,
    /// Nothing: it is gone.
    Gone(WorkerRef),
    /// End it and everything it started.
    Needed(WorkerRef),
}

/// What a dispatcher would do, and what a dry run reports.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Plan {
    /// What is to be done, in order.
    pub actions: Vec<Action>,
    /// What will have happened when nobody interferes and every process does as it is told.
    pub report: Report,
}

impl Action {
    /// Whether this belongs to the part that looks after cards in progress.
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

    /// The worker that has to be ended first.
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

/// Everything a plan is made from.
#[derive(Debug, Clone, Copy)]
pub(super) struct Situation<'a> {
    pub(super) board: &'a Snapshot,
    pub(super) facts: &'a Facts,
    pub(super) limits: &'a crate::plan::Limits,
    pub(super) now: i64,
}
