//! `hermes-board` against real files, threads and processes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod boards;
mod checks;
mod concurrency;
mod dispatch;
mod files;
mod killed;
mod lifecycle;
mod lists;
mod opening;
mod texts;
mod triage;
mod workers;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use hermes_board::boards::{Board, BoardHome, BoardSlug};
use hermes_board::model::{Assignee, RunId, Status, Task, TaskId, WorkerExit};
use hermes_board::store::{
    AttemptEnd, BoardStore, ClaimFrom, ClaimOutcome, ClaimRequest, Claimed, CompleteOutcome,
    Completed, Completion, FailurePolicy, NewTask,
};
use hermes_board::{BoardOptions, Clock, EventQuery, IdSource, SqliteBoard};
use hermes_config::Environment;
use hermes_home::{Location, SystemFacts};

/// Time that stands still until it is moved.
#[derive(Debug)]
struct TestClock(AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Names that count.
#[derive(Debug, Default)]
struct CountingIds(AtomicU32);

impl IdSource for CountingIds {
    fn next_task(&self) -> TaskId {
        TaskId::from_bits(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// A home of its own with its default board.
struct Fixture {
    dir: tempfile::TempDir,
    clock: Arc<TestClock>,
    ids: Arc<CountingIds>,
    home: BoardHome,
}

const START: i64 = 1_700_000_000;

impl Fixture {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let home = home_at(dir.path());
        Self {
            dir,
            clock: Arc::new(TestClock(AtomicI64::new(START))),
            ids: Arc::new(CountingIds::default()),
            home,
        }
    }

    fn path(&self, relative: &str) -> std::path::PathBuf {
        self.dir.path().join(relative)
    }

    fn board(&self) -> Board {
        self.home.board(&BoardSlug::default_board())
    }

    fn options(&self) -> BoardOptions {
        BoardOptions {
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            ..BoardOptions::default()
        }
    }

    fn open(&self) -> SqliteBoard {
        SqliteBoard::open(&self.board(), &self.options()).unwrap()
    }

    fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

/// The boards of an installation at `root`.
fn home_at(root: &Path) -> BoardHome {
    let env = Environment::from_pairs([("HOME", root), ("HERMES_HOME", root)]);
    let location = Location::resolve(&env, &SystemFacts::of_process()).unwrap();
    BoardHome::resolve(&env, &location)
}

/// The end of an attempt whose worker exited.
fn exited(exit: WorkerExit, policy: FailurePolicy) -> AttemptEnd {
    AttemptEnd::Exited { exit, policy }
}

fn assignee(name: &str) -> Assignee {
    Assignee::parse(name).unwrap()
}

/// A card with a title, given to `coder`.
fn card(title: &str) -> NewTask {
    NewTask {
        assignee: Some(assignee("coder")),
        ..NewTask::titled(title)
    }
}

fn file(board: &mut SqliteBoard, new: &NewTask) -> TaskId {
    board.create(new).unwrap().task.id
}

fn below(parents: &[&TaskId]) -> NewTask {
    NewTask {
        parents: parents.iter().map(|id| (*id).clone()).collect(),
        ..card("child")
    }
}

fn task(board: &SqliteBoard, id: &TaskId) -> Task {
    board.task(id).unwrap().unwrap()
}

fn status(board: &SqliteBoard, id: &TaskId) -> Status {
    task(board, id).status()
}

fn try_claim(board: &mut SqliteBoard, id: &TaskId) -> ClaimOutcome {
    board
        .claim(&ClaimRequest {
            task: id.clone(),
            lock: "host:1".to_owned(),
            ttl_seconds: 900,
            from: ClaimFrom::Ready,
            dispatcher: None,
        })
        .unwrap()
}

fn claim(board: &mut SqliteBoard, id: &TaskId) -> RunId {
    match try_claim(board, id) {
        ClaimOutcome::Claimed(claimed) => {
            let Claimed { run, .. } = *claimed;
            run
        }
        other => panic!("{id} was not claimed: {other:?}"),
    }
}

fn complete(board: &mut SqliteBoard, id: &TaskId) -> Completed {
    match board.complete(id, &Completion::default()).unwrap() {
        CompleteOutcome::Done(done) => *done,
        other @ CompleteOutcome::NeedsChecks(_) => panic!("{other:?}"),
    }
}

/// Kinds and payloads of the events of a card.
fn events(board: &SqliteBoard, id: &TaskId) -> Vec<String> {
    let query = EventQuery {
        task: Some(id.clone()),
        ..EventQuery::default()
    };
    board
        .events(&query)
        .unwrap()
        .into_iter()
        .map(|event| match &event.payload {
            Some(payload) => format!("{} {payload}", event.kind),
            None => event.kind.clone(),
        })
        .collect()
}

fn kinds(board: &SqliteBoard, id: &TaskId) -> Vec<String> {
    events(board, id)
        .into_iter()
        .map(|event| event.split(' ').next().unwrap().to_owned())
        .collect()
}

fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Moves a card as the dashboard of the reference does.
fn move_to(board: &SqliteBoard, id: &TaskId, status: Status) {
    let raw = hermes_store::Database::open(
        &board.board().database,
        &hermes_store::OpenOptions::default(),
    )
    .unwrap();
    let update =
        "UPDATE tasks SET status = ?2, claim_lock = NULL, claim_expires = NULL WHERE id = ?1";
    let event = "INSERT INTO task_events (task_id, kind, created_at) VALUES (?1, 'status', ?2)";
    let connection = raw.connection();
    connection
        .execute(update, [id.as_str(), status.as_str()])
        .unwrap();
    connection
        .execute(event, (id.as_str(), board.now()))
        .unwrap();
}
