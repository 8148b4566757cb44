//! The same stories on a real database: what the board in memory promises, SQLite keeps.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use crate::run::simulate_on;
use crate::{CardView, Request, Subject};
use hermes_board::boards::{Board, BoardSlug};
use hermes_board::model::{
    Assignee, Check, CheckEvidence, Run, RunId, Status, Task, TaskId, Termination, WorkerIdentity,
};
use hermes_board::store::{
    Applied, AttemptEnd, BlockOutcome, BlockRequest, BoardStore, CheckOutcome, CheckStart,
    ChecksBegun, ClaimOutcome, ClaimRequest, ClaimSeen, Claimant, CompleteOutcome, Completion,
    Created, FailurePolicy, NewTask, PromoteRequest, Release, ResolvedWorkspace, ScheduleRequest,
    Snapshot, WaitNote,
};
use hermes_board::{BoardOptions, Clock, EventQuery, IdSource, ListQuery, Result, StoredBoard};

#[derive(Debug, Default)]
struct SetClock(AtomicI64);

impl Clock for SetClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

#[derive(Debug, Default)]
struct CountingIds(AtomicU32);

impl IdSource for CountingIds {
    fn next_task(&self) -> TaskId {
        TaskId::from_bits(self.0.fetch_add(1, Ordering::SeqCst))
    }
}

/// A real board in a directory of its own. Writes that fail are left to the board in memory.
struct RealBoard {
    board: StoredBoard,
    clock: Arc<SetClock>,
    options: BoardOptions,
    _directory: tempfile::TempDir,
}

impl RealBoard {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let clock = Arc::new(SetClock::default());
        let options = BoardOptions {
            clock: clock.clone(),
            ids: Arc::new(CountingIds::default()),
            ..BoardOptions::default()
        };
        let board = Board::below(directory.path(), &BoardSlug::default_board());
        Self {
            board: StoredBoard::open(&board, &options).unwrap(),
            clock,
            options,
            _directory: directory,
        }
    }

    fn last_of(&self, id: &TaskId, kinds: &[&str]) -> (usize, Option<String>) {
        let query = EventQuery {
            task: Some(id.clone()),
            kinds: kinds.iter().map(|kind| (*kind).to_owned()).collect(),
            ..EventQuery::default()
        };
        let events = self.board.events(&query).unwrap();
        (events.len(), events.last().map(|event| event.kind.clone()))
    }
}

impl Subject for RealBoard {
    type Image = (Vec<Task>, Vec<Run>, i64);

    const LOOK_EVERY: u64 = 5;

    fn set_failure_limit(&mut self, limit: i64) {
        self.options.failure_limit = limit;
        let place = self.board.board().clone();
        self.board = StoredBoard::open(&place, &self.options).unwrap();
    }

    fn set_now(&mut self, now: i64) {
        self.clock.0.store(now, Ordering::SeqCst);
    }

    fn fail_next(&mut self, _fails: bool) {}

    fn will_fail(&self) -> bool {
        false
    }

    fn image(&self) -> Self::Image {
        let all = ListQuery {
            include_archived: true,
            ..ListQuery::default()
        };
        let tasks = self.board.list(&all).unwrap();
        let runs = tasks
            .iter()
            .flat_map(|task| self.board.runs(&task.id, None).unwrap())
            .collect();
        (tasks, runs, self.board.latest_event_id().unwrap())
    }

    fn each_card(&self, ids: &[TaskId], look: &mut dyn FnMut(CardView<'_>)) {
        for id in ids {
            let Some(task) = self.board.task(id).unwrap() else {
                continue;
            };
            let runs = self.board.runs(id, None).unwrap();
            let parents = self.board.parents(id).unwrap();
            let is_open = |parent: &TaskId| {
                let parent = self.board.task(parent).unwrap().unwrap();
                !parent.status().satisfies_children()
            };
            let (completions, _) = self.last_of(id, &["completed"]);
            let (_, last_block) = self.last_of(id, &["blocked", "unblocked"]);
            look(CardView {
                id: id.clone(),
                status: task.status(),
                assignee: task.assignee.as_deref(),
                host: None,
                has_lock: task.claim_lock.is_some(),
                has_pid: task.worker_pid.is_some(),
                run: task.current_run_id,
                open_runs: runs.iter().filter(|run| run.ended_at.is_none()).count(),
                completions: u32::try_from(completions).unwrap(),
                failures: task.consecutive_failures,
                max_retries: task.max_retries,
                sticky: last_block.as_deref() == Some("blocked"),
                scheduled_at: task.scheduled_at,
                has_open_parent: parents.iter().any(is_open),
            });
        }
    }

    fn claim_of(&self, id: &TaskId) -> Option<(RunId, Option<i64>, Option<i64>)> {
        let task = self.board.task(id).unwrap()?;
        let run = self.board.run(task.current_run_id?).unwrap()?;
        Some((run.id, task.claim_expires, Some(run.started_at)))
    }
}

#[test]
fn sqlite_keeps_the_invariants() {
    let request = Request {
        seed: 1,
        steps: 6_000,
        flaw: None,
    };
    let outcome = simulate_on(&request, &mut |_| RealBoard::new());
    if let Some(failure) = &outcome.failure {
        panic!("{failure}");
    }
    assert!(
        outcome.completed > 0 && outcome.deeds.len() > 10,
        "{outcome:?}"
    );
}

/// Hands every call on.
macro_rules! hand_on {
    ($($name:ident ( $($arg:ident : $type:ty),* ) -> $out:ty;)+) => {
        $(fn $name(&mut self, $($arg: $type),*) -> $out {
            self.board.$name($($arg),*)
        })+
    };
}

impl BoardStore for RealBoard {
    fn now(&self) -> i64 {
        self.board.now()
    }

    fn snapshot(&self, failure_limit: i64) -> Result<Snapshot> {
        self.board.snapshot(failure_limit)
    }

    fn task(&self, id: &TaskId) -> Result<Option<Task>> {
        self.board.task(id)
    }

    fn checks(&self, id: &TaskId) -> Result<Vec<Check>> {
        self.board.checks(id)
    }

    hand_on! {
        create(new: &NewTask) -> Result<Created>;
        link(parent: &TaskId, child: &TaskId) -> Result<bool>;
        unlink(parent: &TaskId, child: &TaskId) -> Result<Option<Vec<TaskId>>>;
        assign(id: &TaskId, assignee: Option<&Assignee>) -> Result<()>;
        assign_default(id: &TaskId, assignee: &Assignee) -> Result<Applied>;
        promote_satisfied(failure_limit: i64) -> Result<Vec<TaskId>>;
        wake_due() -> Result<Vec<(TaskId, Status)>>;
        claim(request: &ClaimRequest) -> Result<ClaimOutcome>;
        record_workspace(
            id: &TaskId, claimant: Claimant<'_>, at: &ResolvedWorkspace
        ) -> Result<Applied>;
        record_spawned(
            id: &TaskId, run: RunId, pid: u32, identity: Option<&WorkerIdentity>
        ) -> Result<Applied>;
        record_spawn_failure(
            id: &TaskId, run: RunId, error: &str, policy: &FailurePolicy
        ) -> Result<Release>;
        extend_own_claim(id: &TaskId, lock: &str, ttl_seconds: i64) -> Result<Applied>;
        heartbeat(id: &TaskId, note: Option<&str>, run: Option<RunId>) -> Result<()>;
        extend_claim(id: &TaskId, seen: &ClaimSeen, until: i64) -> Result<Applied>;
        defer_reclaim(
            id: &TaskId, seen: &ClaimSeen, until: i64, reason: &'static str, end: Termination
        ) -> Result<Applied>;
        end_attempt(
            id: &TaskId, seen: &ClaimSeen, end: &AttemptEnd, termination: Termination
        ) -> Result<Release>;
        record_budget_exhausted(
            id: &TaskId, run: RunId, used: i64, most: i64, policy: &FailurePolicy
        ) -> Result<Release>;
        reclaim(
            id: &TaskId, prev_lock: Option<&str>, reason: Option<&str>, end: Termination
        ) -> Result<Applied>;
        note_waiting(notes: &[WaitNote]) -> Result<usize>;
        complete(id: &TaskId, completion: &Completion) -> Result<CompleteOutcome>;
        begin_checks(
            id: &TaskId, completion: &Completion, start: &CheckStart<'_>
        ) -> Result<ChecksBegun>;
        record_check(session: i64, evidence: &CheckEvidence) -> Result<()>;
        finish_checks(
            session: i64, completion: &Completion, policy: &FailurePolicy
        ) -> Result<CheckOutcome>;
        abandon_checks(session: i64) -> Result<()>;
        block(request: &BlockRequest) -> Result<BlockOutcome>;
        unblock(id: &TaskId) -> Result<Status>;
        schedule(request: &ScheduleRequest) -> Result<()>;
        promote(request: &PromoteRequest) -> Result<()>;
        archive(id: &TaskId) -> Result<Vec<TaskId>>;
    }
}
