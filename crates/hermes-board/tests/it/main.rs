//! `hermes-board` against real files, threads and processes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod boards;
mod check_round;
mod checks;
mod concurrency;
mod dispatch;
mod dispatch_failures;
mod files;
mod fixture;
mod killed;
mod lifecycle;
mod lists;
mod opening;
mod reviews;
mod texts;
mod triage;
mod workers;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use fixture::{assignee, below, card, claim, complete, file, home_at, try_claim};
use hermes_board::boards::{Board, BoardHome, BoardSlug};
use hermes_board::model::{Status, Task, TaskId, WorkerExit};
use hermes_board::store::{AttemptEnd, BoardStore, FailurePolicy};
use hermes_board::{BoardOptions, Clock, EventQuery, IdSource, SqliteBoard};

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

/// The other process, in a role of `process/main.rs` on the home of a fixture.
fn process(role: &str, root: &Path) -> std::process::Command {
    let program = hermes_testkit::helper_program("board-test-process");
    let mut command = std::process::Command::new(program);
    command.arg(role).arg(root);
    command
}

/// The end of an attempt whose worker exited.
fn exited(exit: WorkerExit, policy: FailurePolicy) -> AttemptEnd {
    AttemptEnd::Exited { exit, policy }
}

fn task(board: &SqliteBoard, id: &TaskId) -> Task {
    board.task(id).unwrap().unwrap()
}

fn status(board: &SqliteBoard, id: &TaskId) -> Status {
    task(board, id).status()
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
