//! When a sandbox was last used, and by whom it is held: files in its directory on the host.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use hermes_fs::{LockOptions, SharedLock};
use jiff::Timestamp;

/// A use within this time of the last one is not written down.
const SPARING: Duration = Duration::from_mins(1);

/// What this process writes down about one sandbox.
#[derive(Debug)]
pub(crate) struct Usage {
    directory: PathBuf,
    written: Mutex<Option<Instant>>,
    hold: Mutex<Option<SharedLock>>,
}

impl Usage {
    pub(crate) fn of(directory: &Path) -> Self {
        Self {
            directory: directory.to_owned(),
            written: Mutex::default(),
            hold: Mutex::default(),
        }
    }

    /// Writes down that the sandbox is used now, at most once a minute.
    pub(crate) fn touch(&self) {
        let mut written = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.is_some_and(|before| before.elapsed() < SPARING) {
            return;
        }
        match hermes_fs::touch(&stamp(&self.directory), 0o600) {
            Ok(()) => *written = Some(Instant::now()),
            // Before the first use there is no directory yet.
            Err(error) => {
                tracing::debug!(%error, "could not record the last use of the sandbox");
            }
        }
    }

    /// Lets other processes know that this one uses the sandbox, until it ends or lets go.
    pub(crate) fn hold(&self) {
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        if hold.is_none() {
            let options = LockOptions {
                timeout: Duration::ZERO,
                ..LockOptions::new("the sandbox")
            };
            match SharedLock::acquire(&lock_file(&self.directory), &options) {
                Ok(lock) => *hold = Some(lock),
                Err(error) => tracing::debug!(%error, "could not lock the sandbox"),
            }
        }
    }

    pub(crate) fn let_go(&self) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// When the sandbox of this directory was last used.
pub(crate) fn last_used(directory: &Path) -> Option<Timestamp> {
    let meta = hermes_fs::metadata(&stamp(directory)).ok()?;
    Timestamp::from_second(meta.mtime()).ok()
}

/// Whether a live process holds the sandbox of this directory.
pub(crate) fn is_held(directory: &Path) -> bool {
    // A file that cannot be looked at may be held.
    SharedLock::is_held(&lock_file(directory)).unwrap_or(true)
}

fn stamp(directory: &Path) -> PathBuf {
    directory.join(".last_used")
}

fn lock_file(directory: &Path) -> PathBuf {
    directory.join(".in-use")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_use_is_written_down_sparingly() {
        let dir = tempfile::tempdir().unwrap();
        let usage = Usage::of(dir.path());
        assert_eq!(last_used(dir.path()), None);
        usage.touch();
        let first = last_used(dir.path()).unwrap();
        assert!((Timestamp::now() - first).get_seconds() < 60);
        hermes_fs::remove_file(&stamp(dir.path())).unwrap();
        usage.touch();
        assert_eq!(last_used(dir.path()), None, "within the same minute");
    }

    #[test]
    fn a_use_before_there_is_a_directory_is_written_down_later() {
        let dir = tempfile::tempdir().unwrap();
        let directory = dir.path().join("new");
        let usage = Usage::of(&directory);
        usage.touch();
        hermes_fs::create_dir_all(&directory, 0o700).unwrap();
        usage.touch();
        assert!(last_used(&directory).is_some());
    }

    #[test]
    fn several_hold_a_sandbox_and_the_last_lets_it_go() {
        let dir = tempfile::tempdir().unwrap();
        assert!(!is_held(dir.path()));
        let (one, other) = (Usage::of(dir.path()), Usage::of(dir.path()));
        one.hold();
        other.hold();
        assert!(is_held(dir.path()));
        one.let_go();
        assert!(is_held(dir.path()));
        drop(other);
        assert!(!is_held(dir.path()));
        assert!(!is_held(&dir.path().join("nowhere")));
    }
}
