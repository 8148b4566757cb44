//! One log file that several processes append to and any of them may rotate.
//!
//! Writers take no lock: a record is one `write` in append mode, which the kernel does not tear.
//! Before it, the file's identity is compared with the name's, so a file that was rotated away is
//! left at once. Between that check and the write another process may still rotate; the record is
//! then in `.1`, in its place in time. After the write, a file without any name tells that it was
//! rotated out of existence in between, and the record is written again. So nothing is lost, and a
//! process stopped at any point holds up nobody.
//!
//! Rotation takes `x.log.lock`. Who does not get it at once writes on: somebody else is rotating.

use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hermes_fs::{Error, FileLock, LockOptions, Result};

/// Rotations that may overtake one record before it counts as lost.
const MAX_TRIES: usize = 16;

/// When a file is rotated and how many old ones stay.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Rotation {
    pub(crate) max_bytes: u64,
    pub(crate) backups: u32,
}

impl Rotation {
    fn is_due(self, size: u64, more: usize) -> bool {
        let possible = self.max_bytes > 0 && self.backups > 0;
        // An empty file takes any record, however large: rotating it would help nothing.
        possible && size > 0 && size.saturating_add(more as u64) > self.max_bytes
    }
}

/// A shared, rotated file. Nothing is opened or created before the first record.
#[derive(Debug)]
pub(crate) struct RotatingFile {
    path: PathBuf,
    lock_path: PathBuf,
    rotation: Rotation,
    state: Mutex<RotationState>,
}

#[derive(Debug, Default)]
struct RotationState {
    open: Option<OpenLog>,
    /// A record was cut short by a full disk; the next must not continue its line.
    torn: bool,
}

impl RotationState {
    /// Whether the open file is the one described.
    fn is_open(&self, meta: &Metadata) -> bool {
        let open = self.open.as_ref();
        open.is_some_and(|open| open.device == meta.dev() && open.inode == meta.ino())
    }
}

#[derive(Debug)]
struct OpenLog {
    file: File,
    device: u64,
    inode: u64,
}

impl RotatingFile {
    pub(crate) fn new(path: PathBuf, rotation: Rotation) -> Self {
        Self {
            lock_path: path.with_added_extension("lock"),
            path,
            rotation,
            state: Mutex::default(),
        }
    }

    /// Appends one record, which ends with a newline.
    pub(crate) fn append(&self, record: &[u8]) -> Result<()> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        for _ in 0..MAX_TRIES {
            let size = self.open_current(&mut state)?;
            if self.rotation.is_due(size, record.len()) && self.rotate(&mut state) {
                continue;
            }
            if self.write(&mut state, record)? {
                return Ok(());
            }
        }
        let source =
            io::Error::other("other processes rotate the file faster than it can be written");
        Err(Error::io("write", &self.path)(source))
    }

    /// Makes sure that the open file is the one at the path; gives back its size.
    fn open_current(&self, state: &mut RotationState) -> Result<u64> {
        match hermes_fs::symlink_metadata(&self.path) {
            // Opening a FIFO for writing would wait for a reader.
            Ok(meta) if !meta.is_file() => {
                let source = io::Error::from(io::ErrorKind::InvalidInput);
                return Err(Error::io("log to", &self.path)(source));
            }
            Ok(meta) => {
                if state.is_open(&meta) {
                    return Ok(meta.len());
                }
            }
            Err(error) if error.is_not_found() => self.make_directory()?,
            Err(error) => return Err(error),
        }
        let file = hermes_fs::open_append(&self.path, 0o600)?;
        let meta = file.metadata().map_err(Error::io("look at", &self.path))?;
        if meta.mode() & 0o077 != 0 {
            // Left by a program that was less careful. A file of another user stays as it is.
            let tightened = file.set_permissions(std::fs::Permissions::from_mode(0o600));
            drop(tightened);
        }
        state.open = Some(OpenLog {
            file,
            device: meta.dev(),
            inode: meta.ino(),
        });
        Ok(meta.len())
    }

    /// Creates `logs`, but never the home around it: a process that outlives its profile must not
    /// bring the profile back.
    fn make_directory(&self) -> Result<()> {
        let Some(dir) = self.path.parent() else {
            return Ok(());
        };
        match hermes_fs::create_dir(dir, 0o700) {
            Err(Error::AlreadyExists { .. }) => Ok(()),
            other => other,
        }
    }

    /// Writes with one call. `false`: the file had lost its last name, write again.
    fn write(&self, state: &mut RotationState, record: &[u8]) -> Result<bool> {
        let Some(open) = &state.open else {
            return Ok(false);
        };
        let separated;
        let record = if state.torn {
            separated = [b"\n", record].concat();
            &separated
        } else {
            record
        };
        let written = write_once(&open.file, record);
        state.torn = matches!(written, Ok(count) if count < record.len());
        let count = written.map_err(Error::io("write", &self.path))?;
        let rest = record.get(count..).unwrap_or_default();
        if !rest.is_empty() {
            (&open.file)
                .write_all(rest)
                .map_err(Error::io("write", &self.path))?;
            state.torn = false;
        }
        let links = open.file.metadata().map_or(1, |meta| meta.nlink());
        if links == 0 {
            state.open = None;
        }
        Ok(links > 0)
    }

    /// Whether another file may be at the path now, so that the caller must look again.
    fn rotate(&self, state: &mut RotationState) -> bool {
        let options = LockOptions {
            timeout: Duration::ZERO,
            ..LockOptions::new("the log rotation")
        };
        // Another process is rotating, or the lock cannot be created. Either way the record is more
        // important than the size of the file.
        let Ok(_lock) = FileLock::acquire(&self.lock_path, &options) else {
            return false;
        };
        let Ok(meta) = hermes_fs::symlink_metadata(&self.path) else {
            return true;
        };
        if !state.is_open(&meta) {
            return true;
        }
        if shift(&self.path, self.rotation.backups).is_err() {
            return false;
        }
        state.open = None;
        true
    }
}

/// The name of the n-th rotated file.
pub(crate) fn rotated(path: &Path, number: u32) -> PathBuf {
    path.with_added_extension(number.to_string())
}

/// Renames `x.log` → `.1` → `.2` … up to the first free number, at most `backups`.
fn shift(path: &Path, backups: u32) -> Result<()> {
    let free = (1..=backups)
        .find(|&number| !hermes_fs::exists_no_follow(&rotated(path, number)))
        // None free: the oldest is replaced.
        .unwrap_or(backups);
    for number in (1..free).rev() {
        hermes_fs::rename_unsynced(&rotated(path, number), &rotated(path, number + 1))?;
    }
    hermes_fs::rename_unsynced(path, &rotated(path, 1))
}

fn write_once(mut file: &File, bytes: &[u8]) -> io::Result<usize> {
    loop {
        match file.write(bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            other => return other,
        }
    }
}

#[cfg(test)]
#[path = "rotating_tests.rs"]
mod tests;
