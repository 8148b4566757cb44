//! What a planner needs to know of a board, taken at one moment with a handful of queries.

use std::collections::BTreeMap;

use crate::model::{Outcome, RunId, Status, TaskId, WorkerIdentity};
use crate::store::ClaimSeen;

/// A board at one moment. Lists of cards are in the order of dispatch: priority, age, name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    /// When it was taken.
    pub taken_at: i64,
    /// Cards that may be worked on and that nobody has claimed.
    pub ready: Vec<Candidate>,
    /// Cards that wait for a reviewer and that nobody has claimed.
    pub review: Vec<Candidate>,
    /// Cards that are being worked on.
    pub running: Vec<RunningTask>,
    /// Cards whose parents are all finished and that wait for nothing else than to be noticed.
    pub promotable: Vec<Promotable>,
    /// Parked cards whose moment has come.
    pub due: Vec<DueTask>,
    /// How many cards each assignee works on.
    pub running_by_assignee: BTreeMap<String, usize>,
}

/// A card that a worker could be started for.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    /// The card.
    pub id: TaskId,
    /// Whom it is given to.
    pub assignee: Option<String>,
    /// Higher goes first.
    pub priority: i64,
    /// Older goes first.
    pub created_at: i64,
    /// Failures in a row.
    pub consecutive_failures: i64,
    /// How many are too many, if the card says so itself.
    pub max_retries: Option<i64>,
    /// Whether a parent is open after all: a claim would send it back.
    pub has_open_parent: bool,
    /// Moment before which it is not worked on.
    pub not_before: Option<i64>,
    /// What speaks against trying again at once.
    pub guard: GuardFacts,
}

/// What is known of earlier attempts at a card.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GuardFacts {
    /// What the last failure was.
    pub last_failure_error: Option<String>,
    /// The attempt that ended last.
    pub last_run: Option<EndedRun>,
    /// When an attempt last completed the card, if that is at most an hour ago.
    pub completed_at: Option<i64>,
    /// When somebody last asked for it again; known only if it was completed recently.
    pub requeued_at: Option<i64>,
    /// When a comment of the last day named a pull request.
    pub pull_request_at: Option<i64>,
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedRun {
    /// How; `None` for a word of a newer program.
    pub outcome: Option<Outcome>,
    /// When.
    pub ended_at: i64,
}

/// A card that is being worked on.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTask {
    /// The card, with everything that matters once it is free again.
    pub card: Candidate,
    /// Its claim.
    pub claim: ClaimSeen,
    /// When the attempt began.
    pub started_at: Option<i64>,
    /// Last sign of life.
    pub last_heartbeat_at: Option<i64>,
    /// Longest time of the attempt.
    pub max_runtime_seconds: Option<i64>,
    /// What tells the worker from a later process.
    pub identity: Option<WorkerIdentity>,
    /// Who claimed the card in order to start a worker, until that worker is recorded.
    pub dispatcher: Option<WorkerIdentity>,
    /// Attempts in a row, before this one, that ended without a word.
    pub violation_streak: i64,
}

/// A card that waits to be noticed.
#[derive(Debug, Clone, PartialEq)]
pub struct Promotable {
    /// The card.
    pub card: Candidate,
    /// Where it stands: waiting, or blocked by failures that are fewer now than the limit.
    pub from: Status,
}

/// A parked card whose moment has come.
#[derive(Debug, Clone, PartialEq)]
pub struct DueTask {
    /// The card; with an open parent it goes back to waiting.
    pub card: Candidate,
}

impl Snapshot {
    /// The running card with this attempt.
    pub fn running_run(&self, run: RunId) -> Option<&RunningTask> {
        self.running
            .iter()
            .find(|running| running.claim.run == Some(run))
    }
}
