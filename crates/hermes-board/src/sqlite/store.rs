//! Which transaction each operation of the board takes. The SQL of an operation is in the file of
//! that name, as a function of [`Transaction`](super::transaction::Transaction).
//!
//! Operations that usually have nothing to do read first, so that an idle board is never written to.

use hermes_store::Commit;

use crate::Result;
use crate::model::{
    Assignee, Check, CheckEvidence, RunId, Status, Task, TaskId, Termination, WorkerExit,
    WorkerIdentity, WorkspaceKind,
};
use crate::sqlite::{SqliteBoard, create};
use crate::store::{
    Applied, BlockOutcome, BlockRequest, BoardStore, CheckOutcome, CheckStart, ChecksBegun,
    ClaimOutcome, ClaimRequest, ClaimSeen, CompleteOutcome, Completion, Created, FailurePolicy,
    Guarded, NewTask, PromoteRequest, Release, ResolvedWorkspace, ScheduleRequest, Silence,
    Snapshot, Timeout,
};

impl BoardStore for SqliteBoard {
    fn now(&self) -> i64 {
        self.options.clock.now()
    }

    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot> {
        self.read(|tx| tx.snapshot(failure_limit))
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.read(|tx| tx.task(id))
    }

    fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.read(|tx| tx.checks(id))
    }

    fn create(&mut self, new: &NewTask) -> Result<Created> {
        create::validate(new)?;
        let takes_default = matches!(new.workspace, WorkspaceKind::Dir | WorkspaceKind::Worktree)
            && new.workspace_path.is_none();
        // A scratch workspace is removed when the card is done, so it never starts in a directory
        // that belongs to somebody.
        let default_workdir = takes_default
            .then(|| crate::boards::load_info(&self.board).default_workdir)
            .flatten();
        self.write(|tx| tx.create(new, default_workdir.as_deref()))
    }

    fn link(&mut self, parent: &TaskId, child: &TaskId) -> Result<bool> {
        self.write(|tx| tx.link(parent, child))
    }

    fn unlink(&mut self, parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>> {
        self.write(|tx| tx.unlink(parent, child))
    }

    fn assign(&mut self, id: &TaskId, assignee: Option<&Assignee>) -> Result<()> {
        self.write(|tx| tx.assign(id, assignee))
    }

    fn assign_default(&mut self, id: &TaskId, assignee: &Assignee) -> Result<Applied> {
        self.write(|tx| tx.assign_default(id, assignee))
    }

    fn promote_satisfied(&mut self, failure_limit: i64) -> Result<Vec<TaskId>> {
        let satisfied = self.read(|tx| tx.satisfied(failure_limit, None))?;
        if satisfied.is_empty() {
            return Ok(satisfied);
        }
        self.write(|tx| tx.promote_satisfied(failure_limit, None))
    }

    #[expect(
        clippy::redundant_closure_for_method_calls,
        reason = "a method is not general enough over the lifetime of the transaction"
    )]
    fn wake_due(&mut self) -> Result<Vec<(TaskId, Status)>> {
        if self.read(|tx| tx.due_ids())?.is_empty() {
            return Ok(Vec::new());
        }
        self.write(|tx| tx.wake_due())
    }

    fn claim(&mut self, request: &ClaimRequest) -> Result<ClaimOutcome> {
        // Nobody works before the next write has been forced: that of the workspace, of the worker,
        // or of the end. A claim that a loss of power undoes leaves the card as it was.
        self.write_as(Commit::Logged, |tx| tx.claim(request))
    }

    fn record_workspace(
        &mut self,
        id: &TaskId,
        run: RunId,
        workspace: &ResolvedWorkspace,
    ) -> Result<Applied> {
        self.write(|tx| tx.record_workspace(id, run, workspace))
    }

    fn record_spawned(
        &mut self,
        id: &TaskId,
        run: RunId,
        pid: u32,
        identity: Option<&WorkerIdentity>,
    ) -> Result<Applied> {
        self.write(|tx| tx.record_spawned(id, run, pid, identity))
    }

    fn record_spawn_failure(
        &mut self,
        id: &TaskId,
        run: RunId,
        error: &str,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.write(|tx| tx.record_spawn_failure(id, run, error, policy))
    }

    fn extend_own_claim(&mut self, id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied> {
        self.write(|tx| tx.extend_own_claim(id, lock, ttl_seconds))
    }

    fn heartbeat(
        &mut self,
        id: &TaskId,
        note: Option<&str>,
        expected_run: Option<RunId>,
    ) -> Result<()> {
        self.write(|tx| tx.heartbeat(id, note, expected_run))
    }

    fn extend_claim(&mut self, id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied> {
        self.write(|tx| tx.extend_claim(id, seen, until))
    }

    fn defer_reclaim(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        until: i64,
        reason: &'static str,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|tx| tx.defer_reclaim(id, seen, until, reason, termination))
    }

    fn reclaim_expired(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        heartbeat_stale: bool,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|tx| tx.reclaim_expired(id, seen, heartbeat_stale, termination))
    }

    fn reclaim_silent(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        silence: &Silence,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|tx| tx.reclaim_silent(id, seen, silence, termination))
    }

    fn record_exit(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        exit: WorkerExit,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.write(|tx| tx.record_exit(id, seen, exit, policy))
    }

    fn record_timeout(
        &mut self,
        id: &TaskId,
        seen: &ClaimSeen,
        timeout: &Timeout,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.write(|tx| tx.record_timeout(id, seen, timeout, policy))
    }

    fn record_budget_exhausted(
        &mut self,
        id: &TaskId,
        run: RunId,
        used: i64,
        most: i64,
        policy: &FailurePolicy,
    ) -> Result<Release> {
        self.write(|tx| tx.record_budget_exhausted(id, run, used, most, policy))
    }

    fn reclaim(
        &mut self,
        id: &TaskId,
        prev_lock: Option<&str>,
        reason: Option<&str>,
        termination: Termination,
    ) -> Result<Applied> {
        self.write(|tx| tx.reclaim(id, prev_lock, reason, termination))
    }

    fn note_guarded(&mut self, guarded: &[Guarded]) -> Result<usize> {
        if guarded.is_empty() || self.read(|tx| tx.unnoted(guarded))?.is_empty() {
            return Ok(0);
        }
        self.write(|tx| tx.note_guarded(guarded))
    }

    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome> {
        self.write(|tx| tx.complete(id, completion))?
    }

    fn begin_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun> {
        self.write(|tx| tx.begin_checks(id, completion, start))?
    }

    fn record_check(&mut self, session: i64, evidence: &CheckEvidence) -> Result<()> {
        self.write(|tx| tx.record_check(session, evidence))
    }

    fn finish_checks(
        &mut self,
        session: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        self.write(|tx| tx.finish_checks(session, completion, policy))
    }

    fn abandon_checks(&mut self, session: i64) -> Result<()> {
        self.write(|tx| tx.abandon_checks(session))
    }

    fn block(&mut self, request: &BlockRequest) -> Result<BlockOutcome> {
        self.write(|tx| tx.block(request))
    }

    fn unblock(&mut self, id: &TaskId) -> Result<Status> {
        self.write(|tx| tx.unblock(id))
    }

    fn schedule(&mut self, request: &ScheduleRequest) -> Result<()> {
        self.write(|tx| tx.schedule(request))
    }

    fn promote(&mut self, request: &PromoteRequest) -> Result<()> {
        if request.dry_run {
            return self.read(|tx| tx.may_promote(request));
        }
        self.write(|tx| tx.promote(request))
    }

    fn archive(&mut self, id: &TaskId) -> Result<Vec<TaskId>> {
        self.write(|tx| tx.archive(id))
    }
}
