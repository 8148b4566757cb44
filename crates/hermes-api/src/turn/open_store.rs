//! The connection to the sessions that all turns share.
//!
//! The last connection that closes folds SQLite's log into the database and removes it, and the next
//! turn would begin it anew, each with a wait for the disk. A connection for every turn costs more memory
//! than all else of a turn. Closed when nobody has asked for a while.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use hermes_session::SessionStore;

/// The connection, while it is open.
#[derive(Debug, Default)]
pub(super) struct OpenStore {
    open: Mutex<Option<Open>>,
}

#[derive(Debug)]
struct Open {
    store: SessionStore,
    /// Device and inode of its file.
    file: Option<(u64, u64)>,
}

impl OpenStore {
    /// The connection to the sessions of a home; opened if it is not.
    pub(super) fn of(&self, home: &Path) -> hermes_session::Result<SessionStore> {
        let mut open = self.locked();
        match &*open {
            // The file of that name may be another since, and the home another profile's.
            Some(known)
                if known.store.path().parent() == Some(home)
                    && known.file.is_some()
                    && file_of(known.store.path()) == known.file =>
            {
                Ok(known.store.clone())
            }
            Some(_) | None => {
                let store = SessionStore::open(home)?;
                *open = Some(Open {
                    file: file_of(store.path()),
                    store: store.clone(),
                });
                Ok(store)
            }
        }
    }

    /// Closes it, once those who still use it have ended.
    pub(super) fn close(&self) {
        *self.locked() = None;
    }

    fn locked(&self) -> MutexGuard<'_, Option<Open>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn file_of(path: &Path) -> Option<(u64, u64)> {
    let meta = hermes_fs::metadata(path).ok()?;
    Some((meta.dev(), meta.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_replaced_is_opened_anew() {
        let home = tempfile::tempdir().unwrap();
        let open = OpenStore::default();
        let path = open.of(home.path()).unwrap().path().to_owned();
        let log = path.with_extension("db-wal");
        assert!(log.exists(), "the log lasts as long as the connection");
        let before = file_of(&path);
        let aside = tempfile::tempdir().unwrap();
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            hermes_fs::rename(&home.path().join(name), &aside.path().join(name)).unwrap();
        }
        let store = open.of(home.path()).unwrap();
        assert_ne!(before, file_of(store.path()));
        drop(store);
        open.close();
        assert!(!log.exists(), "nothing is left open");
    }
}
