//! A database of the home: opened when it is first needed, and again after a failure or when the file
//! is no longer there.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use hermes_store::rusqlite::{self, Connection};
use hermes_store::{Commit, Database, OpenOptions};

/// Pages that a connection keeps in memory, in KiB. The rows are few and small.
const CACHE_KIB: i64 = 256;

/// One file of the profile's home.
#[derive(Debug)]
pub(crate) struct HomeDatabase {
    file: &'static str,
    /// Statements that make the tables, if they are not there.
    tables: &'static str,
    open: Mutex<Option<(PathBuf, Database)>>,
}

impl HomeDatabase {
    pub(crate) const fn new(file: &'static str, tables: &'static str) -> Self {
        Self {
            file,
            tables,
            open: Mutex::new(None),
        }
    }

    /// Whether the home has such a file.
    pub(crate) fn exists(&self, home: &Path) -> bool {
        home.join(self.file).exists()
    }

    /// Whether a connection is open.
    pub(crate) fn is_open(&self) -> bool {
        let open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.is_some()
    }

    /// Closes the connection; the next use opens another.
    pub(crate) fn close(&self) {
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Writes in one transaction.
    pub(crate) fn write<T>(
        &self,
        home: &Path,
        commit: Commit,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> hermes_store::Result<T> {
        self.with(home, |path, database| {
            database.write_as(commit, |connection| {
                work(connection).map_err(hermes_store::Error::sqlite("write to", path))
            })
        })
    }

    /// Reads one state of the file.
    pub(crate) fn read<T>(
        &self,
        home: &Path,
        look: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> hermes_store::Result<T> {
        self.with(home, |path, database| {
            database.read(|connection| {
                look(connection).map_err(hermes_store::Error::sqlite("read", path))
            })
        })
    }

    fn with<T>(
        &self,
        home: &Path,
        work: impl FnOnce(&Path, &mut Database) -> hermes_store::Result<T>,
    ) -> hermes_store::Result<T> {
        let path = home.join(self.file);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        // A connection to a file that was removed would write to nowhere.
        let (known, mut database) = match open.take() {
            Some((known, database)) if known == path && path.exists() => (known, database),
            _ => (path.clone(), self.connect_or_replace(&path)?),
        };
        let done = work(&path, &mut database);
        if done.is_ok() {
            *open = Some((known, database));
        }
        done
    }

    /// Opens the file. A damaged one is kept aside, and the server goes on with a new one.
    fn connect_or_replace(&self, path: &Path) -> hermes_store::Result<Database> {
        let error = match self.connect(path) {
            Err(
                error @ (hermes_store::Error::Corrupt { .. }
                | hermes_store::Error::NotADatabase { .. }),
            ) => error,
            outcome => return outcome,
        };
        let Some(copy) = hermes_store::keep_damaged_copy(path)? else {
            return Err(error);
        };
        for file in std::iter::once(path.to_owned()).chain(hermes_store::sidecars(path)) {
            hermes_fs::remove_file_if_present(&file)?;
        }
        tracing::error!(%error, "a new file was begun; the damaged one is {}", copy.display());
        self.connect(path)
    }

    fn connect(&self, path: &Path) -> hermes_store::Result<Database> {
        let database = Database::open(path, &OpenOptions::default())?;
        let connection = database.connection();
        connection
            .pragma_update(None, "cache_size", -CACHE_KIB)
            .and_then(|()| connection.execute_batch(self.tables))
            .map_err(hermes_store::Error::sqlite("write to", path))?;
        Ok(database)
    }
}
