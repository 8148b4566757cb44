//! The board as its users see it: requests, outcomes, and the trait that a database implements.
//!
//! [`BoardStore`] holds what decides who works on what. It is implemented for SQLite; a simulation
//! and another database implement it too. What does not decide that (comments, lists, statistics)
//! stands on the implementation.

mod outcome;
mod request;
mod snapshot;

pub use outcome::{
    Applied, BlockOutcome, CheckOutcome, ChecksBegun, ClaimOutcome, Claimed, CompleteOutcome,
    Completed, Decomposed, Filed, Release,
};
pub use request::{
    BlockRequest, CheckStart, ClaimFrom, ClaimRequest, ClaimSeen, Completion, FailurePolicy,
    Guarded, NewAttachment, NewTask, ProjectLink, PromoteRequest, ResolvedWorkspace,
    ScheduleRequest, Silence, StartIn, Timeout,
};
pub use snapshot::{Candidate, DueTask, EndedRun, GuardFacts, Promotable, RunningTask, Snapshot};

use crate::Result;
use crate::model::{
    Assignee, Check, CheckEvidence, RunId, Status, Task, TaskId, Termination, WorkerExit,
    WorkerIdentity,
};

/// Cards and who works on them. Every call is one transaction; a call that gives an error has
/// changed nothing, unless it says so.
pub trait BoardStore {
    /// The time by which this board counts.
    fn now(&self) -> i64;

    /// Everything a planner needs, from one moment. A blocked card with fewer failures than
    /// `failure_limit` (or than its own number) counts as promotable.
    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot>;

    /// One card.
    fn task(&self, id: &TaskId) -> Result<Option<Task>>;

    /// The checks of a card, in order.
    fn checks(&self, id: &TaskId) -> Result<Vec<Check>>;

    /// Files a card, or gives the one with the same key.
    fn create(&mut self, new: &NewTask) -> Result<Filed>;

    /// Makes `child` wait for `parent`; says whether `child` was ready and now waits.
    fn link(&mut self, parent: &TaskId, child: &TaskId) -> Result<bool>;

    /// Takes a link away; `None` if there was none, else the cards that became ready.
    fn unlink(&mut self, parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>>;

    /// Gives a card to somebody, or to nobody.
    fn assign(&mut self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()>;

    /// Gives a ready card without assignee to the configured one.
    fn assign_default(&mut self, id: &TaskId, assignee: &Assignee) -> Result<Applied>;

    /// Makes ready what waits for nothing any more; gives what became ready.
    fn promote_satisfied(&mut self, failure_limit: i64) -> Result<Vec<TaskId>>;

    /// Wakes parked cards whose moment has come; gives them with where they are now.
    fn wake_due(&mut self) -> Result<Vec<(TaskId, Status)>>;

    /// Claims a card and opens an attempt.
    fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimOutcome>;

    /// The same for a process that starts a worker next. Until the worker is recorded, whoever finds
    /// that process gone knows that nobody works on the card.
    fn claim_for_worker(
        &mut self,
        request: &ClaimRequest,
        dispatcher: Option<&WorkerIdentity>,
    ) -> Result<ClaimOutcome>;

    /// Records where the worker of an attempt will work.
    fn record_workspace(
        &mut self,
        id: &TaskId,
        run: RunId,
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

    /// Prolongs the claim that `lock` holds.
    fn extend_own_claim(&mut self, id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied>;

    /// Records a sign of life.
    fn heartbeat(
        &mut self,
        id: &TaskId,
        note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()>;

    /// Prolongs a claim that ran out while its worker lives.
    fn extend_claim(&mut self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied>;

    /// Keeps a claim because its worker could not be ended.
    fn defer_reclaim(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        reason: &'static str,
        termination: Termination,
    ) -> Result<Applied>;

    /// Takes back a card whose claim ran out. Counts no failure.
    fn reclaim_expired(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        heartbeat_stale: bool,
        termination: Termination,
    ) -> Result<Applied>;

    /// Takes back a card whose worker gave no sign of life. Counts no failure.
    fn reclaim_silent(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        silence: &Silence,
        termination: Termination,
    ) -> Result<Applied>;

    /// Records that a worker ended without finishing its card.
    fn record_exit(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        exit: WorkerExit,
        policy: &FailurePolicy,
    ) -> Result<Release>;

    /// Records that a worker took too long.
    fn record_timeout(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        timeout: &Timeout,
        policy: &FailurePolicy,
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

    /// Takes a card back by hand; its worker has been ended as `termination` says. `prev_lock` is
    /// the claim that was seen.
    fn reclaim(
        &mut self,
        id: &TaskId,
        prev_lock: Option<&str>,
        reason: Option<&str>,
        termination: Termination,
    ) -> Result<Applied>;

    /// Notes cards that were held back, once per reason and hour; gives how many were noted.
    fn note_guarded(&mut self, guarded: &[Guarded]) -> Result<usize>;

    /// Completes a card. Cards named as created that were not are recorded even though that is an
    /// error.
    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome>;

    /// Begins the round of checks that a completion needs. A card that nobody works on is claimed
    /// by the process that runs them.
    fn begin_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun>;

    /// Records what came of one check.
    fn record_check(&mut self, session: i64, evidence: &CheckEvidence) -> Result<()>;

    /// Ends a round: the card is done if every check passed, else it goes back. `completion` is
    /// what [`BoardStore::begin_checks`] was given, now with the files that were kept.
    fn finish_checks(
        &mut self,
        session: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome>;

    /// Gives a round up without a verdict; a card that was claimed for it is free again.
    fn abandon_checks(&mut self, session: i64) -> Result<()>;

    /// Blocks a card.
    fn block(&mut self, request: &BlockRequest) -> Result<BlockOutcome>;

    /// Frees a blocked or parked card; gives where it is now.
    fn unblock(&mut self, id: &TaskId) -> Result<Status>;

    /// Parks a card.
    fn schedule(&mut self, request: &ScheduleRequest) -> Result<()>;

    /// Makes a waiting or blocked card ready by hand.
    fn promote(&mut self, request: &PromoteRequest) -> Result<()>;

    /// Puts a card away; gives the cards that became ready.
    fn archive(&mut self, id: &TaskId) -> Result<Vec<TaskId>>;
}
