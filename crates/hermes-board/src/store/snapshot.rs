//! The board as the planner sees it, taken at one moment with a handful of queries.

use crate::model::{Host, Outcome, Placement, RunId, TaskId, WorkerIdentity};
use crate::store::ClaimSeen;

/// A board at one moment. Lists of cards are in the order of dispatch: priority, age, name.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Snapshot {
    pub taken_at: i64,
    /// Ready cards without a claim.
    pub ready: Vec<Candidate>,
    /// Cards in review without a claim.
    pub review: Vec<Candidate>,
    pub running: Vec<RunningTask>,
    /// Waiting cards whose parents are all finished, and cards blocked by failures that are fewer now
    /// than the limit.
    pub promotable: Vec<Candidate>,
    /// Scheduled cards whose time has come; those with an open parent go back to waiting.
    pub due: Vec<Candidate>,
    /// The hosts that share the board; known only if a card above asks for some of them.
    pub hosts: Vec<Host>,
}

/// A card that a worker could be started for.
#[derive(Debug, Clone, PartialEq)]
pub struct Candidate {
    pub id: TaskId,
    pub assignee: Option<String>,
    pub priority: i64,
    pub created_at: i64,
    pub consecutive_failures: i64,
    pub max_retries: Option<i64>,
    /// Whether a parent is open: a claim would demote the card.
    pub has_open_parent: bool,
    /// Time before which the card is not worked on.
    pub not_before: Option<i64>,
    /// Model of its workers, if not that of their profile.
    pub model: Option<String>,
    /// Skills of its workers.
    pub skills: Vec<String>,
    /// Which hosts may work on it.
    pub placement: Placement,
    pub guard: GuardFacts,
}

/// Facts about earlier attempts at a card.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct GuardFacts {
    pub last_failure_error: Option<String>,
    pub last_run: Option<EndedRun>,
    /// When an attempt last completed the card, if that is at most an hour ago.
    pub completed_at: Option<i64>,
    /// When the card was last requeued; known only if it was completed recently.
    pub requeued_at: Option<i64>,
    /// When a comment of the last day named a pull request.
    pub pull_request_at: Option<i64>,
}

/// The end of an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EndedRun {
    /// The outcome; `None` for one of a newer program.
    pub outcome: Option<Outcome>,
    pub ended_at: i64,
}

/// A running card.
#[derive(Debug, Clone, PartialEq)]
pub struct RunningTask {
    /// The card, with everything that matters once it is released.
    pub card: Candidate,
    pub claim: ClaimSeen,
    pub started_at: Option<i64>,
    pub last_heartbeat_at: Option<i64>,
    pub max_runtime_seconds: Option<i64>,
    pub identity: Option<WorkerIdentity>,
    /// The dispatcher that claimed the card, until the worker is recorded.
    pub dispatcher: Option<WorkerIdentity>,
    /// The host of the worker; `None` for an attempt of another program.
    pub host_id: Option<String>,
    /// Protocol violations in a row before this attempt.
    pub violation_streak: i64,
}

impl Snapshot {
    /// The running card with this attempt.
    pub fn running_run(&self, run: RunId) -> Option<&RunningTask> {
        self.running
            .iter()
            .find(|running| running.claim.run == Some(run))
    }
}
