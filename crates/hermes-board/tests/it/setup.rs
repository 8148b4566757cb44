//! A home with a board, the other process, and what most tests ask of cards.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU32, Ordering};

use hermes_board::boards::{Board, BoardHome, BoardSlug};
use hermes_board::model::{Status, Task, TaskId, WorkerExit};
use hermes_board::store::{AttemptEnd, BoardStore, FailurePolicy};
use hermes_board::{BoardOptions, Clock, EventQuery, IdSource, StoredBoard};

use hermes_testkit::{PgDatabase, Postgres};

use crate::fixture::{SERVER_FILE, home_at};

/// Time that stands still until it is moved.
#[derive(Debug)]
pub(crate) struct TestClock(pub(crate) AtomicI64);

impl Clock for TestClock {
    fn now(&self) -> i64 {
        self.0.load(Ordering::SeqCst)
    }
}

/// Names that count.
#[derive(Debug, Default)]
pub(crate) struct CountingIds(AtomicU32);

impl IdSource for CountingIds {
    fn next_task(&self) -> TaskId {
        TaskId::from_bits(self.0.fetch_add(1, Ordering::SeqCst) + 1)
    }
}

/// A home of its own with its default board.
pub(crate) struct Fixture {
    pub(crate) dir: tempfile::TempDir,
    pub(crate) clock: Arc<TestClock>,
    pub(crate) ids: Arc<CountingIds>,
    pub(crate) home: BoardHome,
    /// The database of its boards, where those are on a server.
    pub(crate) database: Option<PgDatabase>,
}

pub(crate) const START: i64 = 1_700_000_000;

impl Fixture {
    pub(crate) fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let database = server_of(dir.path());
        let home = home_at(dir.path());
        Self {
            database,
            dir,
            clock: Arc::new(TestClock(AtomicI64::new(START))),
            ids: Arc::new(CountingIds::default()),
            home,
        }
    }

    pub(crate) fn path(&self, relative: &str) -> std::path::PathBuf {
        self.dir.path().join(relative)
    }

    pub(crate) fn board(&self) -> Board {
        self.home.board(&BoardSlug::default_board())
    }

    pub(crate) fn options(&self) -> BoardOptions {
        BoardOptions {
            clock: self.clock.clone(),
            ids: self.ids.clone(),
            ..BoardOptions::default()
        }
    }

    pub(crate) fn open(&self) -> StoredBoard {
        StoredBoard::open(&self.board(), &self.options()).unwrap()
    }

    /// Changes the database as another program might.
    pub(crate) fn run_sql(&self, sql: &str) {
        if let Some(database) = &self.database {
            database.sql(&format!("SET search_path TO hermes_default; {sql}"));
            return;
        }
        let options = hermes_store::OpenOptions::default();
        let raw = hermes_store::Database::open(&self.board().database, &options).unwrap();
        raw.connection().execute_batch(sql).unwrap();
    }

    /// Rows of a table.
    pub(crate) fn count(&self, table: &str) -> i64 {
        let sql = format!("SELECT count(*) FROM {table}");
        if let Some(database) = &self.database {
            let sql = format!("SET search_path TO hermes_default; {sql}");
            return database.sql(&sql).parse().unwrap();
        }
        let options = hermes_store::OpenOptions::default();
        let raw = hermes_store::Database::open(&self.board().database, &options).unwrap();
        let counted = raw.connection().query_row(&sql, [], |row| row.get(0));
        counted.unwrap()
    }

    pub(crate) fn pass(&self, seconds: i64) {
        self.clock.0.fetch_add(seconds, Ordering::SeqCst);
    }
}

/// The database of the boards of a home, which says so; `None` where tests are about files.
pub(crate) fn server_of(root: &Path) -> Option<PgDatabase> {
    let database = crate::ON_SERVER.then(|| Postgres::shared().database())?;
    let server = format!("{}\n{}", database.url(), database.password());
    std::fs::write(root.join(SERVER_FILE), server).unwrap();
    Some(database)
}

/// The other process, in a role of `process/main.rs` on the home of a fixture.
pub(crate) fn process(role: &str, root: &Path) -> std::process::Command {
    let program = hermes_testkit::helper_program("board-test-process");
    let mut command = std::process::Command::new(program);
    command.arg(role).arg(root);
    command
}

/// The end of an attempt whose worker exited.
pub(crate) fn exited(exit: WorkerExit, policy: FailurePolicy) -> AttemptEnd {
    AttemptEnd::Exited { exit, policy }
}

pub(crate) fn task(board: &StoredBoard, id: &TaskId) -> Task {
    board.task(id).unwrap().unwrap()
}

pub(crate) fn status(board: &StoredBoard, id: &TaskId) -> Status {
    task(board, id).status()
}

/// Kinds and payloads of the events of a card.
pub(crate) fn events(board: &StoredBoard, id: &TaskId) -> Vec<String> {
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

pub(crate) fn kinds(board: &StoredBoard, id: &TaskId) -> Vec<String> {
    events(board, id)
        .into_iter()
        .map(|event| event.split(' ').next().unwrap().to_owned())
        .collect()
}

pub(crate) fn mode(path: &Path) -> u32 {
    use std::os::unix::fs::PermissionsExt;
    std::fs::metadata(path).unwrap().permissions().mode() & 0o777
}

/// Moves a card as the dashboard of the reference does.
pub(crate) fn move_to(fixture: &Fixture, id: &TaskId, status: Status) {
    let now = fixture.clock.now();
    fixture.run_sql(&format!(
        "UPDATE tasks SET status = '{status}', claim_lock = NULL, claim_expires = NULL
             WHERE id = '{id}';
         INSERT INTO task_events (task_id, kind, created_at) VALUES ('{id}', 'status', {now})"
    ));
}
