//! Databases for tests, and a process that never stops writing to one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_store::{Database, OpenOptions};

/// Names the database that the child process writes to.
const WRITE_TO: &str = "HOME_TEST_WRITE_TO";

/// A database with a table of numbers.
pub(crate) fn open(path: &Path) -> Database {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    let database = Database::open(path, &OpenOptions::default()).unwrap();
    database
        .connection()
        .execute_batch("CREATE TABLE IF NOT EXISTS t (n INTEGER PRIMARY KEY, pad BLOB)")
        .unwrap();
    database
}

/// Makes a database with this many rows and closes it.
pub(crate) fn with_rows(path: &Path, rows: u32) {
    let mut database = open(path);
    for _ in 0..rows {
        add_row(&mut database);
    }
}

/// Commits one row.
pub(crate) fn add_row(database: &mut Database) {
    let sql = "INSERT INTO t (pad) VALUES (randomblob(500))";
    database.connection().execute_batch(sql).unwrap();
}

/// How many rows there are.
pub(crate) fn rows(path: &Path) -> i64 {
    Database::open_read_only(path)
        .unwrap()
        .connection()
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

/// The child: commits without end, and says how many commits it has done.
#[test]
fn endless_writer() {
    let Some(path) = std::env::var_os(WRITE_TO) else {
        return;
    };
    let mut database = open(Path::new(&path));
    for number in 1.. {
        add_row(&mut database);
        println!("committed {number}");
    }
}

/// A writer process; killed when dropped.
pub(crate) struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Writer {
    pub(crate) fn start(database: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", "database::endless_writer", "--nocapture"])
            .env(WRITE_TO, database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until this many commits are done.
    pub(crate) fn wait_for(&mut self, commits: u32) {
        loop {
            let line = self.lines.next().unwrap().unwrap();
            if line == format!("committed {commits}") {
                return;
            }
        }
    }
}

impl Drop for Writer {
    fn drop(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }
}
