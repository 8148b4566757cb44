//! One connection to the sessions that stays open between turns.
//!
//! The last connection that closes folds SQLite's log into the database and removes it, and the next
//! turn would begin it anew, each with a wait for the disk. Closed when nobody has asked for a while.

use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use hermes_session::SessionStore;

/// The connection that nobody uses at the moment.
#[derive(Debug, Default)]
pub(super) struct OpenStore {
    idle: Mutex<Option<Idle>>,
}

#[derive(Debug)]
struct Idle {
    store: SessionStore,
    /// Device and inode of its file.
    file: (u64, u64),
}

impl OpenStore {
    /// A connection to the sessions of a home: the one that is open, or another.
    pub(super) fn take(&self, home: &Path) -> hermes_session::Result<SessionStore> {
        let idle = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match idle {
            // The file of that name may be another since, and the home another profile's.
            Some(idle)
                if idle.store.path().parent() == Some(home)
                    && file_of(idle.store.path()) == Some(idle.file) =>
            {
                Ok(idle.store)
            }
            Some(_) | None => SessionStore::open(home),
        }
    }

    /// Keeps a connection open for the next turn.
    pub(super) fn put(&self, store: SessionStore) {
        let Some(file) = file_of(store.path()) else {
            return;
        };
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        *idle = Some(Idle { store, file });
    }

    /// Closes it.
    pub(super) fn close(&self) {
        drop(
            self.idle
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .take(),
        );
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
        let store = open.take(home.path()).unwrap();
        let path = store.path().to_owned();
        open.put(store);
        let log = path.with_extension("db-wal");
        assert!(log.exists(), "the log lasts as long as the connection");
        let before = file_of(&path);
        let aside = tempfile::tempdir().unwrap();
        for name in ["state.db", "state.db-wal", "state.db-shm"] {
            hermes_fs::rename(&home.path().join(name), &aside.path().join(name)).unwrap();
        }
        let store = open.take(home.path()).unwrap();
        assert_ne!(before, file_of(store.path()));
        open.put(store);
        open.close();
        assert!(!log.exists(), "nothing is left open");
    }
}
