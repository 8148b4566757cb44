//! Sessions in SQLite. Each file is one thing that happens to them.

mod append;
mod cells;
mod compaction;
mod export;
mod filter;
mod fragments;
mod history;
mod lifecycle;
mod lineage;
mod list;
mod maintenance;
mod open;
mod recall;
mod remove;
mod rewind;
mod search;
mod search_sql;
mod titles;
mod todos;
mod usage;

pub use append::Step;
pub use compaction::{Compaction, CompactionLock, CompactionPause, LockAttempt};
pub use filter::SessionFilter;
pub use history::{History, Resumed};
pub use list::{ListRequest, Listed, Stats};
pub use maintenance::{AutoPrune, AutoPruned, Optimized};
pub use open::StoreOptions;
pub use recall::{Browsed, Discover, Discovery, Recalled, Scroll, Window};
pub use rewind::TakenBack;
pub use search::{Hit, Neighbour, SearchOrder, SearchRequest};

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_store::rusqlite::{self, Connection};
use hermes_store::{Commit, Database};

use crate::{Clock, Result};

/// A connection to the sessions of one home.
#[derive(Debug)]
pub struct SessionStore {
    database: Database,
    path: PathBuf,
    clock: Arc<dyn Clock>,
}

impl SessionStore {
    /// Opens the sessions of a home, making or completing the file if need be (mode 0600).
    pub fn open(home: &Path) -> Result<Self> {
        Self::open_with(home, &StoreOptions::default())
    }

    /// As [`Self::open`], with other settings.
    pub fn open_with(home: &Path, options: &StoreOptions) -> Result<Self> {
        open::open(home, options)
    }

    /// Opens the sessions of a home for reading, changing nothing. `None` if there are none yet.
    pub fn open_read_only(home: &Path) -> Result<Option<Self>> {
        open::open_read_only(home)
    }

    /// The file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The time, as this store sees it.
    pub fn now(&self) -> f64 {
        self.clock.now()
    }

    /// Runs `work` in one write transaction.
    fn write<T>(&mut self, work: impl FnOnce(&Scope<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Commit::Forced, work)
    }

    /// As [`Self::write`], for what says nothing until a message follows it, or what can be found
    /// out again: a loss of power may undo it, the end of the process does not.
    fn note<T>(&mut self, work: impl FnOnce(&Scope<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Commit::Logged, work)
    }

    fn write_as<T>(
        &mut self,
        commit: Commit,
        work: impl FnOnce(&Scope<'_>) -> Result<T>,
    ) -> Result<T> {
        let path = self.path.as_path();
        let now = self.clock.now();
        self.database.write_as(commit, |connection| {
            work(&Scope {
                connection,
                path,
                now,
            })
        })
    }

    /// Runs `look` on one state of the file.
    fn read<T>(&self, look: impl FnOnce(&Scope<'_>) -> Result<T>) -> Result<T> {
        self.database.read(|connection| {
            look(&Scope {
                connection,
                path: &self.path,
                now: self.clock.now(),
            })
        })
    }
}

/// A count, as SQLite has them.
fn count_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// One transaction.
struct Scope<'c> {
    connection: &'c Connection,
    path: &'c Path,
    now: f64,
}

impl Scope<'_> {
    fn failed(&self, action: &'static str) -> impl FnOnce(rusqlite::Error) -> crate::Error {
        move |source| hermes_store::Error::sqlite(action, self.path)(source).into()
    }

    fn execute(&self, sql: &str, params: impl rusqlite::Params) -> Result<usize> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.execute(params))
            .map_err(self.failed("write to"))
    }

    /// All rows of a query.
    fn rows<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        map: impl FnMut(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(params, map)?.collect())
            .map_err(self.failed("read"))
    }

    /// The first row of a query, if it has any.
    fn row<T>(
        &self,
        sql: &str,
        params: impl rusqlite::Params,
        map: impl FnOnce(&rusqlite::Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Option<T>> {
        use rusqlite::OptionalExtension;
        self.connection
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_row(params, map).optional())
            .map_err(self.failed("read"))
    }
}
