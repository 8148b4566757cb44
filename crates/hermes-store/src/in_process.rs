//! Which database files this process has open.
//!
//! SQLite's locks are POSIX record locks: closing any descriptor of a file drops all locks the
//! process holds on it. Plain reads of a database file (its first bytes, a copy of a damaged one)
//! are therefore allowed only while no connection of the process is open. POSIX keeps that state
//! per process, so the list has to be one per process too.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::Result;

/// Device and inode.
type FileKey = (u64, u64);

static OPEN: Mutex<Option<HashMap<FileKey, usize>>> = Mutex::new(None);

/// A connection counts as open from before SQLite opens the file until after it closed it.
#[derive(Debug)]
pub(crate) struct OpenMark(FileKey);

impl OpenMark {
    /// Marks the file, which must exist.
    pub(crate) fn new(path: &Path) -> Result<Self> {
        let mut open = lock();
        let key = key(path)?;
        *open.get_or_insert_default().entry(key).or_default() += 1;
        Ok(Self(key))
    }
}

impl Drop for OpenMark {
    fn drop(&mut self) {
        if let Some(open) = lock().as_mut()
            && let Some(count) = open.get_mut(&self.0)
        {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.0);
            }
        }
    }
}

/// Runs `look`, which may open and close the file by plain means, unless a connection of this
/// process is open: then `None`. No connection is opened meanwhile.
pub(crate) fn while_closed<T>(path: &Path, look: impl FnOnce() -> Result<T>) -> Result<Option<T>> {
    let open = lock();
    let key = key(path)?;
    if open.as_ref().is_some_and(|open| open.contains_key(&key)) {
        return Ok(None);
    }
    look().map(Some)
}

fn key(path: &Path) -> Result<FileKey> {
    let meta = hermes_fs::metadata(path)?;
    Ok((meta.dev(), meta.ino()))
}

fn lock() -> MutexGuard<'static, Option<HashMap<FileKey, usize>>> {
    // Nothing between lock and unlock leaves the map half changed.
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}
