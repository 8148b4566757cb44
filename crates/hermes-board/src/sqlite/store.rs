//! Which transaction each operation of the board takes. The SQL of an operation is in the file of
//! that name, as a function of [`Transaction`](super::transaction::Transaction).
//!
//! Operations that usually have nothing to do read first, so that an idle board is never written to.

use std::borrow::Cow;

use hermes_store::Commit;

use crate::Result;
use crate::model::{
    Assignee, Check, CheckEvidence, RunId, Status, Task, TaskId, Termination, WorkerIdentity,
    WorkspaceKind,
};
use crate::sqlite::content_files::publish;
use crate::sqlite::{StoredBoard, create};
use crate::store::{
    Applied, AttemptEnd, BlockOutcome, BlockRequest, BoardStore, CheckOutcome, CheckStart,
    ChecksBegun, ClaimOutcome, ClaimRequest, ClaimSeen, Claimant, CompleteOutcome, Completion,
    Created, FailurePolicy, NewTask, PromoteRequest, Release, ResolvedWorkspace, ScheduleRequest,
    Snapshot, WaitNote,
};

/// Runs each operation in one write transaction, begun like this.
macro_rules! write_each {
    ($write:ident: $($name:ident ( $($arg:ident : $type:ty),* ) -> $out:ty;)+) => {
        $(fn $name(&mut self, $($arg: $type),*) -> Result<$out> {
            self.$write(|tx| tx.$name($($arg),*))
        })+
    };
}

impl StoredBoard {
    /// A completion whose kept files are where other machines of the board find them.
    fn published<'c>(
        &self,
        id: &TaskId,
        completion: &'c Completion,
    ) -> Result<Cow<'c, Completion>> {
        if !self.is_on_server() || completion.attachments.is_empty() {
            return Ok(Cow::Borrowed(completion));
        }
        let mut completion = completion.clone();
        for attachment in &mut completion.attachments {
            publish(self, id, attachment)?;
        }
        Ok(Cow::Owned(completion))
    }
}

impl BoardStore for StoredBoard {
    write_each! { write_own:
        heartbeat(id: &TaskId, note: Option<&str>, expected_run: Option<RunId>) -> ();
        record_check(session: i64, evidence: &CheckEvidence) -> ();
        abandon_checks(session: i64) -> ();
        block(request: &BlockRequest) -> BlockOutcome;
        schedule(request: &ScheduleRequest) -> ();
    }

    write_each! { write:
        link(parent: &TaskId, child: &TaskId) -> bool;
        unlink(parent: &TaskId, child: &TaskId) -> Option<Vec<TaskId>>;
        assign(id: &TaskId, assignee: Option<&Assignee>) -> ();
        assign_default(id: &TaskId, assignee: &Assignee) -> Applied;
        record_workspace(
            id: &TaskId, claimant: Claimant<'_>, workspace: &ResolvedWorkspace
        ) -> Applied;
        record_spawned(
            id: &TaskId, run: RunId, pid: u32, identity: Option<&WorkerIdentity>
        ) -> Applied;
        record_spawn_failure(
            id: &TaskId, run: RunId, error: &str, policy: &FailurePolicy
        ) -> Release;
        record_budget_exhausted(
            id: &TaskId, run: RunId, used: i64, most: i64, policy: &FailurePolicy
        ) -> Release;
        extend_own_claim(id: &TaskId, lock: &str, ttl_seconds: i64) -> Applied;
        extend_claim(id: &TaskId, seen: &ClaimSeen, until: i64) -> Applied;
        defer_reclaim(
            id: &TaskId, seen: &ClaimSeen, until: i64, reason: &'static str, alive: Termination
        ) -> Applied;
        end_attempt(
            id: &TaskId, seen: &ClaimSeen, end: &AttemptEnd, termination: Termination
        ) -> Release;
        reclaim(
            id: &TaskId, prev_lock: Option<&str>, reason: Option<&str>, termination: Termination
        ) -> Applied;
        unblock(id: &TaskId) -> Status;
        archive(id: &TaskId) -> Vec<TaskId>;
    }

    fn now(&self) -> i64 {
        self.clock()
    }

    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot> {
        self.read(|tx| tx.snapshot(failure_limit, None))
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.look(|tx| tx.task(id))
    }

    fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.read(|tx| tx.checks(id))
    }

    fn create(&mut self, new: &NewTask) -> Result<Created> {
        create::validate(new)?;
        let takes_default = matches!(new.workspace, WorkspaceKind::Dir | WorkspaceKind::Worktree)
            && new.workspace_path.is_none()
            && new.repository.is_none();
        // A scratch workspace is removed when the card is done, so it never starts in a directory
        // that belongs to somebody.
        let default_workdir = takes_default
            .then(|| crate::boards::load_info(&self.board).default_workdir)
            .flatten();
        self.write(|tx| tx.create(new, default_workdir.as_deref()))
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
        let is_limited = self.is_on_server() && !request.caps.is_none();
        self.write_as(Commit::Logged, |tx| {
            if is_limited && let Some(cap) = tx.reached_cap(request)? {
                return Ok(ClaimOutcome::Full(cap));
            }
            tx.claim(request)
        })
    }

    fn note_waiting(&mut self, notes: &[WaitNote]) -> Result<usize> {
        if notes.is_empty() || self.read(|tx| tx.unnoted(notes))?.is_empty() {
            return Ok(0);
        }
        self.write(|tx| tx.note_waiting(notes))
    }

    fn complete(&mut self, id: &TaskId, completion: &Completion) -> Result<CompleteOutcome> {
        let completion = self.published(id, completion)?;
        self.write_own(|tx| tx.complete(id, &completion))?
    }

    fn finish_checks(
        &mut self,
        session: i64,
        completion: &Completion,
        policy: &FailurePolicy,
    ) -> Result<CheckOutcome> {
        let card = if completion.attachments.is_empty() {
            None
        } else {
            self.look(|tx| tx.card_of_checks(session))?
        };
        let completion = match card {
            Some(id) => self.published(&id, completion)?,
            None => Cow::Borrowed(completion),
        };
        self.write_own(|tx| tx.finish_checks(session, &completion, policy))
    }

    fn begin_checks(
        &mut self,
        id: &TaskId,
        completion: &Completion,
        start: &CheckStart<'_>,
    ) -> Result<ChecksBegun> {
        self.write_own(|tx| tx.begin_checks(id, completion, start))?
    }

    fn promote(&mut self, request: &PromoteRequest) -> Result<()> {
        if request.dry_run {
            return self.read(|tx| tx.may_promote(request));
        }
        self.write(|tx| tx.promote(request))
    }
}
