//! The exit record: a file that says how a worker exited, for dispatchers that did not see it.
//!
//! A worker writes it as its last act, and a dispatcher that reaps a worker writes it too, so that the
//! next dispatcher can tell a used-up quota from a crash.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::Result;
use crate::boards::Board;
use crate::model::{RunId, TaskId, WorkerExit};

/// A few numbers.
const LIMIT: u64 = 4096;

#[derive(Debug, Serialize, Deserialize)]
struct Record {
    run_id: i64,
    code: Option<i32>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    signal: Option<i32>,
    ended_at: i64,
}

/// Records how the worker of an attempt exited, unless a later attempt has a record already.
/// Returns
/// whether it was written.
pub fn write_exit_record(
    board: &Board,
    task: &TaskId,
    run: RunId,
    exit: WorkerExit,
    now: i64,
) -> Result<bool> {
    let path = board.exit_record_of(task)?;
    write_record(&path, run, exit, now)
}

pub(super) fn write_record(path: &Path, run: RunId, exit: WorkerExit, now: i64) -> Result<bool> {
    if read(path).is_some_and(|record| record.run_id > run.0) {
        return Ok(false);
    }
    let (code, signal) = match exit {
        WorkerExit::Code(code) => (Some(code), None),
        WorkerExit::Signal(signal) => (None, Some(signal)),
        WorkerExit::Unknown => return Ok(false),
    };
    let record = Record {
        run_id: run.0,
        code,
        signal,
        ended_at: now,
    };
    let Ok(text) = serde_json::to_string(&record) else {
        // Four plain fields always become text.
        return Ok(false);
    };
    if let Some(directory) = path.parent() {
        hermes_fs::create_dir_all(directory, 0o700)?;
    }
    hermes_fs::write_atomic(path, format!("{text}\n").as_bytes(), 0o600)?;
    Ok(true)
}

/// How the worker of this attempt exited, if it is recorded. A malformed file counts as none.
pub(super) fn read_exit_record(board: &Board, task: &TaskId, run: RunId) -> Option<WorkerExit> {
    let record = read(&board.exit_record_of(task).ok()?)?;
    if record.run_id != run.0 {
        return None;
    }
    match (record.code, record.signal) {
        (_, Some(signal)) => Some(WorkerExit::Signal(signal)),
        (Some(code), None) => Some(WorkerExit::Code(code)),
        (None, None) => None,
    }
}

fn read(path: &Path) -> Option<Record> {
    let bytes = hermes_fs::read_capped(path, LIMIT).ok()?;
    serde_json::from_slice(&bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::boards::BoardSlug;
    use pretty_assertions::assert_eq;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "tests access files directly")]
    fn the_end_of_the_latest_attempt_is_kept() {
        let dir = tempfile::tempdir().unwrap();
        let board = Board::below(dir.path(), &BoardSlug::default_board());
        let task = TaskId::from_bits(7);
        let write = |run, exit| write_exit_record(&board, &task, RunId(run), exit, 99).unwrap();
        let read = |run| read_exit_record(&board, &task, RunId(run));
        assert_eq!(read(1), None);
        assert!(write(2, WorkerExit::Code(75)));
        assert_eq!(read(2), Some(WorkerExit::Code(75)));
        assert_eq!(read(1), None);
        // Whoever notices late how an earlier worker ended must not hide the later one.
        assert!(!write(1, WorkerExit::Signal(9)));
        assert_eq!(read(2), Some(WorkerExit::Code(75)));
        assert!(write(3, WorkerExit::Signal(9)));
        assert_eq!(read(3), Some(WorkerExit::Signal(9)));
        assert!(!write(4, WorkerExit::Unknown));
        let path = board.exit_record_of(&task).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(
            text,
            "{\"run_id\":3,\"code\":null,\"signal\":9,\"ended_at\":99}\n"
        );
        std::fs::write(&path, "{\"run_id\":").unwrap();
        assert_eq!(read(3), None);
    }
}
