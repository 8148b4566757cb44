//! What a worker printed: the file on its own machine, and the end of it for all others.
//!
//! The machine of a worker tells the others what is new in a log once a second, and only if there is
//! something: so a reader elsewhere need not ask for it first, and what goes through the database is no
//! more than what workers print, at most a part of fixed size per worker and second.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::PathBuf;

use crate::boards::Board;
use crate::model::{RunId, TaskId};
use crate::sqlite::{LogPart, LogState};
use crate::{Result, StoredBoard};

/// Most bytes that are told at a time; of a worker that prints more, the newest.
const PART: u64 = 64 * 1024;

/// Where what a worker printed can be read.
#[derive(Debug)]
pub enum WorkerLog {
    /// In a file of this machine.
    File {
        file: File,
        path: PathBuf,
        size: u64,
    },
    /// On another machine, which has told the end of it.
    Elsewhere(LogState),
    /// No worker has printed anything.
    None,
}

/// Finds the log of a card.
pub fn worker_log(store: &StoredBoard, task: &TaskId) -> Result<WorkerLog> {
    let told = store.log_state(task)?;
    if let Some(state) = &told
        && state.host != store.board().installation()
    {
        return Ok(WorkerLog::Elsewhere(state.clone()));
    }
    let path = store.board().log_of(task)?;
    match hermes_fs::open_regular(&path) {
        Ok((file, meta)) => Ok(WorkerLog::File {
            file,
            path,
            size: meta.len(),
        }),
        // Collected as garbage here, and what was told of it is not.
        Err(error) if error.is_not_found() => {
            Ok(told.map_or(WorkerLog::None, WorkerLog::Elsewhere))
        }
        Err(error) => Err(error.into()),
    }
}

/// The end of a log, at most so many bytes, and the size of all of it; `None` if there is no log.
pub fn log_tail(store: &StoredBoard, task: &TaskId, most: u64) -> Result<Option<(Vec<u8>, u64)>> {
    let (mut content, size) = match worker_log(store, task)? {
        WorkerLog::None => return Ok(None),
        WorkerLog::File {
            mut file,
            path,
            size,
        } => {
            let mut content = Vec::new();
            let begin = size.saturating_sub(most);
            file.seek(SeekFrom::Start(begin))
                .and_then(|_| file.take(most).read_to_end(&mut content))
                .map_err(hermes_fs::Error::io("read", &path))?;
            (content, size)
        }
        WorkerLog::Elsewhere(state) => {
            let parts = store.log_parts(task, 0)?;
            let content = parts.into_iter().flat_map(|part| part.content).collect();
            (content, state.size)
        }
    };
    let surplus = content.len() as u64;
    let surplus = usize::try_from(surplus.saturating_sub(most)).unwrap_or(0);
    content.drain(..surplus);
    Ok(Some((content, size)))
}

/// The size of a card's log on this machine.
pub(crate) fn log_size(board: &Board, task: &TaskId) -> Option<u64> {
    let path = board.log_of(task).ok()?;
    Some(hermes_fs::metadata(&path).ok()?.len())
}

/// Tells other machines what is new in the log of a worker of this machine. Only for a board on a
/// server.
pub fn tell_log(store: &StoredBoard, task: &TaskId, run: RunId) -> Result<()> {
    let path = store.board().log_of(task)?;
    let (mut file, meta) = match hermes_fs::open_regular(&path) {
        Ok(opened) => opened,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    let before = store.log_state(task)?;
    let host = store.board().installation();
    let known = before.as_ref().filter(|before| before.host == host);
    let known = known.map(|before| before.size);
    // Nothing new; nothing at all is no news either.
    if known.unwrap_or(0) == meta.len() {
        return Ok(());
    }
    // A log that is shorter than before was put aside, and this is a new one.
    let known = known.filter(|known| *known < meta.len()).unwrap_or(0);
    let start = known.max(meta.len().saturating_sub(PART));
    let mut content = Vec::new();
    file.seek(SeekFrom::Start(start))
        .and_then(|_| file.take(PART).read_to_end(&mut content))
        .map_err(hermes_fs::Error::io("read", &path))?;
    let part = LogPart { start, content };
    let now = LogState {
        run,
        host,
        size: part.end(),
    };
    store.append_log(task, before.as_ref(), &now, &part)
}
