//! Connections to the stored conversations that are kept for the next request: to open one costs more
//! than most of what is read through it.

use std::ops::Deref;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use hermes_session::SessionStore;

/// Connections that are kept.
const MOST_KEPT: usize = 4;
/// How long one is used: another program may change what the file looks like inside.
const LIFETIME: Duration = Duration::from_secs(5);

/// The kept connections.
#[derive(Default)]
pub(crate) struct SessionReaders(Mutex<Vec<Kept>>);

struct Kept {
    store: SessionStore,
    /// The file, as device and number.
    file: (u64, u64),
    opened: Instant,
}

/// A connection in use.
pub(crate) struct SessionReader<'r> {
    readers: &'r SessionReaders,
    kept: Option<Kept>,
    store: SessionStore,
}

impl SessionReaders {
    /// A connection to the conversations of a home; `None` while nobody has talked there.
    pub(crate) fn open(&self, home: &Path) -> hermes_session::Result<Option<SessionReader<'_>>> {
        let known = file_of(&hermes_session::database_path(home));
        let found = {
            let mut all = self.all();
            all.retain(|kept| kept.opened.elapsed() < LIFETIME && Some(kept.file) == known);
            all.pop()
        };
        if let Some(kept) = found {
            return Ok(Some(self.lent(kept.store.clone(), Some(kept))));
        }
        let Some(store) = SessionStore::open_read_only(home)? else {
            return Ok(None);
        };
        // One whose file was exchanged meanwhile is used once.
        let file = file_of(store.path()).filter(|file| Some(*file) == known);
        let kept = file.map(|file| Kept {
            store: store.clone(),
            file,
            opened: Instant::now(),
        });
        Ok(Some(self.lent(store, kept)))
    }

    fn lent(&self, store: SessionStore, kept: Option<Kept>) -> SessionReader<'_> {
        SessionReader {
            readers: self,
            kept,
            store,
        }
    }

    /// Closes all that nobody uses.
    pub(crate) fn close(&self) {
        self.all().clear();
    }

    fn all(&self) -> MutexGuard<'_, Vec<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn file_of(path: &Path) -> Option<(u64, u64)> {
    let found = hermes_fs::metadata(path).ok()?;
    Some((found.dev(), found.ino()))
}

impl Deref for SessionReader<'_> {
    type Target = SessionStore;

    fn deref(&self) -> &SessionStore {
        &self.store
    }
}

impl Drop for SessionReader<'_> {
    fn drop(&mut self) {
        let Some(kept) = self.kept.take() else {
            return;
        };
        let mut all = self.readers.all();
        if all.len() < MOST_KEPT {
            all.push(kept);
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests change files directly")]
mod tests {
    use super::SessionReaders;
    use pretty_assertions::assert_eq;

    #[test]
    fn a_connection_is_kept_until_its_file_is_another_one() {
        let home = tempfile::tempdir().unwrap();
        let readers = SessionReaders::default();
        assert!(readers.open(home.path()).unwrap().is_none());
        drop(hermes_session::SessionStore::open(home.path()).unwrap());
        drop(readers.open(home.path()).unwrap().unwrap());
        assert_eq!(readers.all().len(), 1);
        let both = (readers.open(home.path()), readers.open(home.path()));
        assert_eq!(readers.all().len(), 0);
        drop(both);
        assert_eq!(readers.all().len(), 2);
        let path = hermes_session::database_path(home.path());
        std::fs::remove_file(&path).unwrap();
        assert!(readers.open(home.path()).unwrap().is_none());
        assert_eq!(readers.all().len(), 0);
    }
}
