//! The locks that keep two dispatchers apart. `flock(2)` on the same files as the reference, so
//! that both programs exclude each other.

use std::path::Path;
use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};

use crate::Result;
use crate::boards::{Board, BoardHome};

/// The right to dispatch on one board for one tick.
#[derive(Debug)]
pub enum TickLock {
    Held(FileLock),
    HeldByOther,
    /// The file cannot be locked; the writes themselves are still safe.
    Unavailable(hermes_fs::Error),
}

impl TickLock {
    /// Tries to take the lock of a board.
    pub fn take(board: &Board) -> Self {
        match attempt(&board.dispatch_lock(), "the dispatcher of this board") {
            Ok(Some(lock)) => Self::Held(lock),
            Ok(None) => Self::HeldByOther,
            Err(error) => Self::Unavailable(error),
        }
    }
}

/// Tries to become the dispatching gateway of an installation, as long as the lock is held; `None` if
/// another process is.
pub fn lock_dispatcher(home: &BoardHome) -> Result<Option<FileLock>> {
    of_installation(&home.dispatcher_lock(), "the dispatching gateway")
}

/// Tries to become the gateway of an installation that tells followers of cards, as long as the lock
/// is held; `None` if another process is.
pub fn lock_notifier(home: &BoardHome) -> Result<Option<FileLock>> {
    of_installation(&home.notifier_lock(), "the notifying gateway")
}

fn of_installation(path: &Path, what: &str) -> Result<Option<FileLock>> {
    if let Some(parent) = path.parent() {
        hermes_fs::create_dir_all(parent, 0o700)?;
    }
    Ok(attempt(path, what)?)
}

fn attempt(path: &Path, what: &str) -> hermes_fs::Result<Option<FileLock>> {
    let options = LockOptions {
        timeout: Duration::ZERO,
        ..LockOptions::new(what)
    };
    match FileLock::acquire(path, &options) {
        Ok(lock) => Ok(Some(lock)),
        Err(hermes_fs::Error::LockTimeout { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
