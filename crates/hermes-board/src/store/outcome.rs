//! Outcomes of requests. Losing a race is an outcome, not an error.

use std::path::PathBuf;

use crate::model::{BlockKind, Check, CheckEvidence, CheckSession, RunId, Status, Task, TaskId};
use crate::store::ReachedCap;

/// Outcome of [`super::BoardStore::create`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Created {
    pub task: Task,
    /// Whether the card existed before, under the same idempotency key.
    pub existed: bool,
}

/// Outcome of a conditional write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    Yes,
    /// Somebody else changed the card first; nothing was done.
    LostRace,
}

/// Outcome of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    Claimed(Box<Claimed>),
    /// The card has another status, or is claimed already.
    NotClaimable {
        status: String,
        lock: Option<String>,
    },
    /// Parents are open; the card waits for them again.
    ParentsOpen,
    TooEarly {
        at: i64,
    },
    /// A limit on cards in progress is reached.
    Full(ReachedCap),
    Unknown,
}

/// A card that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    pub task: Task,
    pub run: RunId,
    /// Whether the card was never claimed before, so that nothing of an earlier attempt can run.
    pub is_first_attempt: bool,
}

/// The state of a card after a failed attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Release {
    /// Somebody else changed the card first; nothing was done.
    LostRace,
    /// The card is ready for another attempt.
    Requeued { failures: i64 },
    /// The card failed too often and waits for a person.
    Blocked { failures: i64, limit: i64 },
}

/// Outcome of a completion.
#[derive(Debug, Clone, PartialEq)]
pub enum CompleteOutcome {
    Done(Box<Completed>),
    /// The card has checks that must pass first; nothing was changed.
    NeedsChecks(Vec<Check>),
}

/// A card that was completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Completed {
    pub task: Task,
    /// The attempt that ended; `None` if there was none and no summary to keep.
    pub run: Option<RunId>,
    /// Cards that became ready.
    pub promoted: Vec<TaskId>,
    /// Cards named in the summary that do not exist.
    pub phantom_references: Vec<TaskId>,
    /// Scratch workspaces that are no longer needed, with their cards.
    pub finished_workspaces: Vec<(TaskId, PathBuf)>,
}

/// Outcome of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOutcome {
    /// The new status: blocked, waiting for its parents, or back in triage.
    pub status: Status,
    /// The recorded kind: `needs_input` where the request named a dependency and none is open.
    pub kind: Option<BlockKind>,
    /// How often the card was blocked for this reason.
    pub recurrences: i64,
    pub run: Option<RunId>,
}

/// Outcome of a session of checks.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckOutcome {
    Done(Box<Completed>),
    Failed {
        evidence: CheckEvidence,
        release: Release,
    },
    /// The card changed while the checks ran; nothing was done.
    LostRace,
}

/// A session of checks that was begun.
#[derive(Debug, Clone, PartialEq)]
pub struct ChecksBegun {
    pub session: CheckSession,
    pub checks: Vec<Check>,
    pub task: Task,
}

/// Outcome of a decomposition.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposed {
    /// The new cards, in the order of the plan.
    pub children: Vec<TaskId>,
    /// The new cards that are ready.
    pub promoted: Vec<TaskId>,
}
