//! The trait, as far as SQLite is concerned: each call stands in the file of its transition.

use crate::Result;
use crate::model::{
    Assignee, Check, CheckEvidence, RunId, Status, Task, TaskId, Termination, WorkerExit,
    WorkerIdentity,
};
use crate::sqlite::SqliteBoard;
use crate::store::{
    Applied, BlockOutcome, BlockRequest, BoardStore, CheckOutcome, CheckStart, ChecksBegun,
    ClaimOutcome, ClaimRequest, ClaimSeen, CompleteOutcome, Completion, FailurePolicy, Filed,
    Guarded, NewTask, PromoteRequest, Release, ResolvedWorkspace, ScheduleRequest, Silence,
    Snapshot, Timeout,
};

impl BoardStore for SqliteBoard {
    fn now(&self) -> i64 {
        self.options.clock.now()
    }

    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot> {
        self.look(failure_limit)
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.read(|session| session.task(id))
    }

    fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.read(|session| session.checks(id))
    }

    fn create(&mut self, new: &NewTask) -> Result<Filed> {
        self.file(new)
    }

    fn link(&mut self, parent: &TaskId, child: &TaskId) -> Result<bool> {
        self.add_link(parent, child)
    }

    fn unlink(&mut self, parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>> {
        self.remove_link(parent, child)
    }

    fn assign(&mut self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()> {
        self.give(id, assignee)
    }

    fn assign_default(&mut self, id: &TaskId, assignee: &Assignee) -> Result<Applied> {
        self.give_default(id, assignee)
    }

    fn promote_satisfied(&mut self, failure_limit: i64) -> Result<Vec<TaskId>> {
        self.promote_all(failure_limit)
    }

    fn wake_due(&mut self) -> Result<Vec<(TaskId, Status)>> {
        self.wake()
    }

    fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimOutcome> {
        self.take(request, None)
    }

    fn claim_for_worker(
        &mut self,
        request: &ClaimRequest,
        dispatcher: Option<&WorkerIdentity>,
    ) -> Result<ClaimOutcome> {
        self.take(request, dispatcher)
    }

    fn record_workspace(
        &mut self,
        id: &TaskId,
        run: RunId,
        workspace: &ResolvedWorkspace,
    ) -> Result<Applied> {
        self.set_workspace(id, run, workspace)
    }

    fn record_spawned(
        &mut self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied> {
        self.set_worker(id, run, pid, identity)
    }

    fn record_spawn_failure(
        &mut self,
        id: &TaskId,
        run: RunId,
        error: &str,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.fail_spawn(id, run, error, policy)
    }

    fn extend_own_claim(&mut self, id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied> {
        self.keep_own(id, lock, ttl_seconds)
    }

    fn heartbeat(
        &mut self,
        id: &TaskId,
        note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()> {
        self.beat(id, note, expected_run)
    }

    fn extend_claim(&mut self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied> {
        self.prolong(id, seen, until)
    }

    fn defer_reclaim(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        reason: &'static str,
        termination: Termination,
    ) -> Result<Applied> {
        self.defer(id, seen, until, reason, termination)
    }

    fn reclaim_expired(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        heartbeat_stale: bool,
        termination: Termination,
    ) -> Result<Applied> {
        self.expire(id, seen, heartbeat_stale, termination)
    }

    fn reclaim_silent(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        silence: &Silence,
        termination: Termination,
    ) -> Result<Applied> {
        self.silence(id, seen, silence, termination)
    }

    fn record_exit(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        exit: WorkerExit,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.exit(id, seen, exit, policy)
    }

    fn record_timeout(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        timeout: &Timeout,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.time_out(id, seen, timeout, policy)
    }

    fn record_budget_exhausted(
        &mut self,
        id: &TaskId,
        run: RunId,
        used: i64,
        most: i64,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.exhaust_budget(id, run, used, most, policy)
    }

    fn reclaim(
        &mut self,
        id: &TaskId,
        prev_lock: Option<&str>,
        reason: Option<&str>,
        termination: Termination,
    ) -> Result<Applied> {
        self.take_back(id, prev_lock, reason, termination)
    }

    fn note_guarded(&mut self, guarded: &[Guarded]) -> Result<usize> {
        self.note_held_back(guarded)
    }

    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome> {
        self.finish(id, completion)
    }

    fn begin_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun> {
        self.start_checks(id, completion, start)
    }

    fn record_check(&mut self, session: i64, evidence: &CheckEvidence) -> Result<()> {
        self.note_check(session, evidence)
    }

    fn finish_checks(
        &mut self,
        session: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        self.end_checks(session, completion, policy)
    }

    fn abandon_checks(&mut self, session: i64) -> Result<()> {
        self.give_up_checks(session)
    }

    fn block(&mut self, request: &BlockRequest) -> Result<BlockOutcome> {
        self.hold(request)
    }

    fn unblock(&mut self, id: &TaskId) -> Result<Status> {
        self.release_hold(id)
    }

    fn schedule(&mut self, request: &ScheduleRequest) -> Result<()> {
        self.park(request)
    }

    fn promote(&mut self, request: &PromoteRequest) -> Result<()> {
        self.promote_by_hand(request)
    }

    fn archive(&mut self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.put_away(id)
    }
}
