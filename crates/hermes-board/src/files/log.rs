//! The end of a worker's log.

use std::io::{Read, Seek, SeekFrom};

use crate::Result;
use crate::boards::Board;
use crate::model::TaskId;

/// Most bytes of a log that are read at once.
const MOST: u64 = 64 * 1024 * 1024;

/// What a worker printed, or the last `tail` bytes of it without a line that is cut off at its
/// beginning. `None` if there is no log.
pub fn read_log(board: &Board, task: &TaskId, tail: Option<u64>) -> Result<Option<Vec<u8>>> {
    let path = board.log_of(task)?;
    let (mut file, meta) = match hermes_fs::open_regular(&path) {
        Ok(opened) => opened,
        Err(error) if error.is_not_found() => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let wanted = tail.unwrap_or(MOST).min(MOST);
    let skipped = meta.len().saturating_sub(wanted);
    let failed = || hermes_fs::Error::io("read", &path);
    // One byte more tells whether the first line is whole.
    file.seek(SeekFrom::Start(skipped.saturating_sub(1)))
        .map_err(failed())?;
    let mut bytes = Vec::new();
    file.take(wanted.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(failed())?;
    if skipped == 0 {
        return Ok(Some(bytes));
    }
    let whole_lines = bytes.iter().position(|byte| *byte == b'\n');
    let from = match whole_lines {
        Some(end) if end + 1 < bytes.len() => end + 1,
        // One endless line: better its end than nothing.
        _ => 1,
    };
    Ok(Some(bytes.split_off(from.min(bytes.len()))))
}
