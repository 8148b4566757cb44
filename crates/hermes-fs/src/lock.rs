//! `flock` with a deadline.
//!
//! The lock file is never unlinked: deleting it while another process holds its descriptor would
//! let two processes own "the" lock, each on its own inode.

use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::{Error, Result, fault};

/// How long to sleep between tries.
const POLL: Duration = Duration::from_millis(5);

/// What a lock protects and how long to wait for it.
#[derive(Debug, Clone, Copy)]
pub struct LockOptions<'a> {
    /// In the user's words, for the error message ("config.yaml of profile coder").
    pub what: &'a str,
    pub timeout: Duration,
}

impl<'a> LockOptions<'a> {
    /// Ten seconds.
    pub fn new(what: &'a str) -> Self {
        Self {
            what,
            timeout: Duration::from_secs(10),
        }
    }
}

/// An exclusive lock, held until dropped or until the process ends, however it ends.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    path: PathBuf,
}

impl FileLock {
    /// Takes the lock, waiting up to the timeout.
    pub fn acquire(path: &Path, options: &LockOptions<'_>) -> Result<Self> {
        Ok(Self {
            file: lock_file(path, options, File::try_lock)?,
            path: path.to_owned(),
        })
    }

    /// Whether some process holds the lock alone. Never creates, writes or removes anything.
    pub fn is_held(path: &Path) -> Result<bool> {
        is_refused(path, File::try_lock_shared)
    }

    /// The lock file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Replaces what the lock file says, for those who ask who holds it.
    pub fn write(&self, bytes: &[u8]) -> Result<()> {
        fault::point();
        let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
        let write = || {
            // Cut off last: who reads in between finds no empty file.
            self.file.write_all_at(bytes, 0)?;
            self.file.set_len(length)?;
            self.file.sync_data()
        };
        write().map_err(Error::io("write", &self.path))
    }

    /// Whether the path still leads to the file that is locked. Somebody may have deleted it, and
    /// then another process can lock a new one.
    pub fn is_in_place(&self) -> Result<bool> {
        let own = self.file.metadata();
        let own = own.map_err(Error::io("look at", &self.path))?;
        match crate::metadata(&self.path) {
            Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
            Err(error) if error.is_not_found() => Ok(false),
            Err(error) => Err(error),
        }
    }
}

/// A lock that many hold at once, each until dropped or until its process ends, however it ends:
/// who holds it uses what it stands for.
#[derive(Debug)]
pub struct SharedLock {
    file: File,
    path: PathBuf,
}

impl SharedLock {
    /// Takes a share. Waits up to the timeout for someone who has the lock alone.
    pub fn acquire(path: &Path, options: &LockOptions<'_>) -> Result<Self> {
        Ok(Self {
            file: lock_file(path, options, File::try_lock_shared)?,
            path: path.to_owned(),
        })
    }

    /// Gives the share back. Whoever was the last to hold one gets the lock alone and may put away
    /// what it stands for, while newcomers wait; of several that leave at once, one is the last.
    pub fn release(self) -> Result<Option<FileLock>> {
        let Self { file, path } = self;
        // Not by closing: a child about to be started may hold a copy for a moment.
        file.unlock().map_err(Error::io("unlock", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(FileLock { file, path })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(source)) => Err(Error::io("lock", &path)(source)),
        }
    }

    /// Whether some process holds the lock, shared or alone. Never creates, writes or removes
    /// anything.
    pub fn is_held(path: &Path) -> Result<bool> {
        is_refused(path, File::try_lock)
    }
}

/// Whether the file is there and the lock cannot be had now; a lock that is had is given back.
fn is_refused(
    path: &Path,
    attempt: impl Fn(&File) -> std::result::Result<(), TryLockError>,
) -> Result<bool> {
    let file = match crate::open(path) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(false),
        Err(error) => return Err(error),
    };
    match attempt(&file) {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(source)) => Err(Error::io("probe the lock", path)(source)),
    }
}

/// Tries until it works or the time is up; the kernel has no `flock` with a timeout.
fn lock_file(
    path: &Path,
    options: &LockOptions<'_>,
    attempt: impl Fn(&File) -> std::result::Result<(), TryLockError>,
) -> Result<File> {
    let file = open_lock_file(path)?;
    let start = Instant::now();
    loop {
        match attempt(&file) {
            Ok(()) => return Ok(file),
            Err(TryLockError::WouldBlock) => {
                let waited = start.elapsed();
                if waited >= options.timeout {
                    return Err(Error::LockTimeout {
                        what: options.what.to_owned(),
                        path: path.to_owned(),
                        waited,
                    });
                }
                std::thread::sleep(POLL.min(options.timeout.saturating_sub(waited)));
            }
            Err(TryLockError::Error(source)) => return Err(Error::io("lock", path)(source)),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
fn open_lock_file(path: &Path) -> Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(Error::io("open the lock", path))
}
