//! The online backup, beside writers in other threads and processes.

use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use hermes_store::{Error, Integrity, backup_to, integrity_check};
use pretty_assertions::assert_eq;

use crate::{add, count, mode, numbers};

/// A writer process; killed when dropped.
struct Writer {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Writer {
    fn start(database: &Path) -> Self {
        let mut child = Command::new(hermes_testkit::helper_program("store-test-process"))
            .arg("write-endlessly")
            .arg(database)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    /// Waits until this many commits are done.
    fn wait_for(&mut self, commits: i64) {
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

#[test]
fn a_backup_beside_a_writing_process_is_whole() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    numbers(&path);
    let mut writer = Writer::start(&path);
    for round in 1..=5 {
        let before = round * 60;
        writer.wait_for(before);
        let target = dir.path().join(format!("copy-{round}.db"));
        let size = backup_to(&path, &target).unwrap();
        assert_eq!(size, std::fs::metadata(&target).unwrap().len());
        assert_eq!(mode(&target), 0o600);
        assert_eq!(integrity_check(&target).unwrap(), Integrity::Sound);
        let rows = count(&target);
        assert!(rows >= before, "{rows} rows, {before} were committed");
        for sidecar in hermes_store::sidecars(&target) {
            assert!(!sidecar.exists(), "{}", sidecar.display());
        }
    }
}

#[test]
fn rows_that_are_only_in_the_log_of_a_killed_writer_are_copied() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state.db");
    numbers(&path);
    let mut writer = Writer::start(&path);
    writer.wait_for(20);
    drop(writer);
    assert!(hermes_store::wal_size(&path).unwrap() > 0);
    let target = dir.path().join("copy.db");
    backup_to(&path, &target).unwrap();
    assert!(count(&target) >= 20);
}

#[test]
fn what_cannot_be_copied_leaves_no_target() {
    let dir = tempfile::tempdir().unwrap();
    let junk = dir.path().join("junk.db");
    std::fs::write(&junk, "not a database, not a database, not a database").unwrap();
    let target = dir.path().join("copy.db");
    let backup = |source: &Path| backup_to(source, &target);
    assert!(matches!(
        backup(&junk).unwrap_err(),
        Error::NotADatabase { .. }
    ));
    assert!(
        backup(&dir.path().join("gone.db"))
            .unwrap_err()
            .is_not_found()
    );

    let damaged = dir.path().join("damaged.db");
    let mut database = numbers(&damaged);
    for number in 0..200 {
        add(&mut database, number);
    }
    drop(database);
    let mut bytes = std::fs::read(&damaged).unwrap();
    let len = bytes.len();
    bytes[len / 4..len / 2].fill(0xA5);
    std::fs::write(&damaged, &bytes).unwrap();
    assert!(matches!(
        backup(&damaged).unwrap_err(),
        Error::Corrupt { .. }
    ));
    assert!(!target.exists());

    std::fs::write(&target, "keep me").unwrap();
    let sound = dir.path().join("sound.db");
    numbers(&sound);
    assert!(backup(&sound).is_err());
    assert_eq!(std::fs::read(&target).unwrap(), b"keep me");
}

#[test]
fn an_empty_file_is_an_empty_database() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("empty.db");
    std::fs::write(&path, "").unwrap();
    let target = dir.path().join("copy.db");
    backup_to(&path, &target).unwrap();
    assert_eq!(integrity_check(&target).unwrap(), Integrity::Sound);
}
