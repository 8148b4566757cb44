//! Databases for tests, and a process that never stops writing to one.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_store::Database;

pub(crate) use crate::steps::{add_row, open};

/// Makes a database with this many rows and closes it.
pub(crate) fn with_rows(path: &Path, rows: u32) {
    let mut database = open(path);
    for _ in 0..rows {
        add_row(&mut database);
    }
}

/// How many rows there are.
pub(crate) fn rows(path: &Path) -> i64 {
    Database::open_read_only(path)
        .unwrap()
        .connection()
        .query_row("SELECT count(*) FROM t", [], |row| row.get(0))
        .unwrap()
}

/// A writer process; killed when dropped.
pub(crate) struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Writer {
    pub(crate) fn start(database: &Path) -> Self {
        let mut child = Command::new(hermes_testkit::helper_program("home-test-process"))
            .arg("write-endlessly")
            .arg(database)
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
