//! What came of a request. Losing a race is an outcome, not an error.

use std::path::PathBuf;

use crate::model::{BlockKind, Check, CheckEvidence, CheckSession, RunId, Status, Task, TaskId};

/// What filing a card did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filed {
    /// The card.
    pub task: Task,
    /// Whether it was there before, under the same key.
    pub existed: bool,
}

/// What a conditional write did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Applied {
    /// It happened.
    Yes,
    /// Somebody else changed the card first; nothing was done.
    LostRace,
}

/// What came of a claim.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ClaimOutcome {
    /// The card is ours.
    Claimed(Box<Claimed>),
    /// It stands elsewhere, or somebody has it.
    NotClaimable {
        /// Where it stands.
        status: String,
        /// Who has it.
        lock: Option<String>,
    },
    /// Parents are open; the card waits for them now.
    ParentsOpen,
    /// Its moment has not come.
    TooEarly {
        /// When it comes.
        at: i64,
    },
    /// There is no such card.
    Unknown,
}

/// A card that was claimed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Claimed {
    /// The card as it is now.
    pub task: Task,
    /// The attempt that was opened.
    pub run: RunId,
}

/// What became of a card whose worker is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub enum Release {
    /// Somebody else changed the card first; nothing was done.
    LostRace,
    /// It may be tried again.
    Requeued {
        /// Failures in a row.
        failures: i64,
    },
    /// It failed too often and waits for a person.
    Blocked {
        /// Failures in a row.
        failures: i64,
        /// How many were too many.
        limit: i64,
    },
}

/// What came of a completion.
#[derive(Debug, Clone, PartialEq)]
pub enum CompleteOutcome {
    /// The card is done.
    Done(Box<Completed>),
    /// The card has checks, which have to pass first; nothing was changed.
    NeedsChecks(Vec<Check>),
}

/// A card that was completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Completed {
    /// The card as it is now.
    pub task: Task,
    /// The attempt that ended; `None` if there was none and nothing was handed over.
    pub run: Option<RunId>,
    /// Cards that became ready.
    pub promoted: Vec<TaskId>,
    /// Names of cards in the summary that do not exist.
    pub phantom_references: Vec<TaskId>,
    /// Scratch workspaces that nobody needs any more, with their cards.
    pub finished_workspaces: Vec<(TaskId, PathBuf)>,
}

/// What came of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockOutcome {
    /// Where the card is now: blocked, waiting for its parents, or back in triage.
    pub landed: Status,
    /// The kind that was recorded; differs from the one asked for if that could not be had.
    pub kind: Option<BlockKind>,
    /// How often it was blocked for this reason.
    pub recurrences: i64,
    /// The attempt that ended.
    pub run: Option<RunId>,
}

/// What came of a round of checks.
#[derive(Debug, Clone, PartialEq)]
pub enum CheckOutcome {
    /// All passed; the card is done.
    Done(Box<Completed>),
    /// One did not pass.
    Failed {
        /// The one.
        evidence: CheckEvidence,
        /// What became of the card.
        release: Release,
    },
    /// The card changed while the checks ran; nothing was done.
    LostRace,
}

/// A round of checks that was begun.
#[derive(Debug, Clone, PartialEq)]
pub struct ChecksBegun {
    /// The round.
    pub session: CheckSession,
    /// What has to be run, in order.
    pub checks: Vec<Check>,
    /// The card as it is now.
    pub task: Task,
}

/// What a decomposition made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decomposed {
    /// The new cards, in the order of the plan.
    pub children: Vec<TaskId>,
    /// Those of them that are ready.
    pub promoted: Vec<TaskId>,
}
