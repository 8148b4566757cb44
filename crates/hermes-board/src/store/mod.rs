//! The board as its users see it: requests, outcomes, and [`BoardStore`], the trait of a database.
//!
//! The trait has the operations that decide who works on what; SQLite and the simulation implement
//! it. Comments, lists and statistics are methods of [`crate::StoredBoard`] alone.

mod outcome;
mod request;
mod snapshot;

pub use outcome::{
    Applied, BlockOutcome, CheckOutcome, ChecksBegun, ClaimOutcome, Claimed, CompleteOutcome,
    Completed, Created, Decomposed, Release,
};
pub(crate) use request::HOST_CAP;
pub use request::{
    AttemptEnd, BlockRequest, CheckStart, ClaimCaps, ClaimFrom, ClaimRequest, ClaimSeen, Claimant,
    Completion, FailurePolicy, NewAttachment, NewTask, ProjectLink, PromoteRequest, ReachedCap,
    ResolvedWorkspace, ScheduleRequest, Silence, StartIn, StoredContent, WaitNote, WaitReason,
};
pub use snapshot::{Candidate, EndedRun, GuardFacts, RunningTask, Snapshot};

use crate::Result;
use crate::model::{
    Assignee, Check, CheckEvidence, RunId, Status, Task, TaskId, Termination, WorkerIdentity,
};

/// Cards and who works on them. Every call is one transaction; a call that fails has changed nothing,
/// unless its documentation says otherwise.
pub trait BoardStore {
    /// The time of this board.
    fn now(&self) -> i64;

    /// Everything the planner needs, from one moment. A blocked card with fewer failures than
    /// `failure_limit` (or than its own number) counts as promotable.
    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot>;

    /// One card.
    fn task(&self, id: &TaskId) -> Result<Option<Task>>;

    /// The checks of a card, in order.
    fn checks(&self, id: &TaskId) -> Result<Vec<Check>>;

    /// Creates a card, or returns the one with the same idempotency key.
    fn create(&mut self, new: &NewTask) -> Result<Created>;

    /// Makes `child` wait for `parent`; returns whether `child` was ready and now waits.
    fn link(&mut self, parent: &TaskId, child: &TaskId) -> Result<bool>;

    /// Removes a link; returns the cards that became ready, `None` if there was no link.
    fn unlink(&mut self, parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>>;

    /// Assigns a card, or removes its assignee.
    fn assign(&mut self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()>;

    /// Assigns a ready card without assignee to the configured profile.
    fn assign_default(&mut self, id: &TaskId, assignee: &Assignee) -> Result<Applied>;

    /// Promotes every card whose parents are finished; returns the cards that became ready.
    fn promote_satisfied(&mut self, failure_limit: i64) -> Result<Vec<TaskId>>;

    /// Wakes scheduled cards whose time has come; returns them with their new status.
    fn wake_due(&mut self) -> Result<Vec<(TaskId, Status)>>;

    /// Claims a card and opens an attempt. Until its worker is recorded, the dispatcher named in the
    /// request tells others whether a worker can still be expected.
    fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimOutcome>;

    /// Records the workspace of an attempt, for whoever claimed the card.
    fn record_workspace(
        &mut self,
        id: &TaskId,
        claimant: Claimant<'_>,
        workspace: &ResolvedWorkspace,
    ) -> Result<Applied>;

    /// Records the worker of an attempt.
    fn record_spawned(
        &mut self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied>;

    /// Records that no worker could be started.
    fn record_spawn_failure(
        &mut self,
        id: &TaskId,
        run: RunId,
        error: &str,
        policy: &FailurePolicy,
    ) -> Result<Release>;

    /// Extends the claim that `lock` holds.
    fn extend_own_claim(&mut self, id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied>;

    /// Records a heartbeat.
    fn heartbeat(
        &mut self,
        id: &TaskId,
        note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()>;

    /// Extends an expired claim whose worker is alive.
    fn extend_claim(&mut self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied>;

    /// Keeps a claim whose worker could not be terminated.
    fn defer_reclaim(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        reason: &'static str,
        termination: Termination,
    ) -> Result<Applied>;

    /// Ends the attempt at a running card whose claim is the one that was seen. `termination` reports
    /// what became of the worker.
    fn end_attempt(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        end: &AttemptEnd,
        termination: Termination,
    ) -> Result<Release>;

    /// Records that a worker used up its turns.
    fn record_budget_exhausted(
        &mut self,
        id: &TaskId,
        run: RunId,
        used: i64,
        most: i64,
        policy: &FailurePolicy,
    ) -> Result<Release>;

    /// Reclaims a card by hand; `termination` reports what became of its worker. `prev_lock` is the
    /// claim that was seen.
    fn reclaim(
        &mut self,
        id: &TaskId,
        prev_lock: Option<&str>,
        reason: Option<&str>,
        termination: Termination,
    ) -> Result<Applied>;

    /// Notes on cards why they wait, once per reason and hour; returns how many were noted.
    fn note_waiting(&mut self, notes: &[WaitNote]) -> Result<usize>;

    /// Completes a card without checks. A completion that names cards its worker did not create is
    /// refused with an error, and the refusal is recorded.
    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome>;

    /// Begins a session of checks for a completion. A card that nobody works on is claimed by the
    /// process that runs the checks.
    fn begin_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun>;

    /// Records the result of one check.
    fn record_check(&mut self, session: i64, evidence: &CheckEvidence) -> Result<()>;

    /// Ends a session of checks: the card is done if every check passed, else the attempt failed.
    /// `completion` is that of [`BoardStore::begin_checks`], now with the kept files.
    fn finish_checks(
        &mut self,
        session: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome>;

    /// Abandons a session of checks without a verdict and releases a claim made for it.
    fn abandon_checks(&mut self, session: i64) -> Result<()>;

    /// Blocks a card.
    fn block(&mut self, request: &BlockRequest) -> Result<BlockOutcome>;

    /// Unblocks a blocked or scheduled card; returns its new status.
    fn unblock(&mut self, id: &TaskId) -> Result<Status>;

    /// Schedules a card for later.
    fn schedule(&mut self, request: &ScheduleRequest) -> Result<()>;

    /// Promotes a waiting or blocked card by hand.
    fn promote(&mut self, request: &PromoteRequest) -> Result<()>;

    /// Archives a card; returns the cards that became ready.
    fn archive(&mut self, id: &TaskId) -> Result<Vec<TaskId>>;
}
