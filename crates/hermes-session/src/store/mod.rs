//! Sessions in SQLite, one file per operation.

mod analytics;
mod append;
mod compaction;
mod export;
mod filter;
mod history;
mod insights;
mod lifecycle;
mod lineage;
mod list;
mod maintenance;
mod open;
mod recall;
mod remove;
mod rows;
mod search;
mod search_sql;
mod sql_fragments;
mod titles;
mod todos;
mod typed;
mod undo;
mod usage;

pub use analytics::{UsageReport, UsageSum};
pub use append::ConversationStep;
pub use compaction::{Compaction, CompactionLock, LockAttempt};
pub use filter::SessionFilter;
pub use history::{ConversationHistory, Resumed};
pub use insights::{Insights, InsightsRequest, UsageOf};
pub use list::{ListRequest, ListedConversation, Stats};
pub use maintenance::{AutoPrune, Optimized};
pub use recall::{
    DiscoverRequest, DiscoveredConversation, MessageWindow, RecalledMessage, ScrollRequest,
};
pub use search::{Neighbour, SearchHit, SearchOrder, SearchRequest};
pub use typed::TypedMessage;
pub use undo::UndoneTurns;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use hermes_store::rusqlite::{self, Connection};
use hermes_store::{Commit, Database};

use crate::Result;

/// A connection to the sessions of one home. Copies share the connection and take turns: for a process
/// with many conversations, each of which would otherwise have a cache of pages and the schema for itself.
#[derive(Debug, Clone)]
pub struct SessionStore {
    database: Arc<Mutex<Database>>,
    path: PathBuf,
}

impl SessionStore {
    /// The database file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The connection, for one transaction. What a panic interrupted was undone.
    fn database(&self) -> MutexGuard<'_, Database> {
        self.database.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs `work` in one write transaction.
    fn write<T>(&mut self, work: impl FnOnce(&SessionTransaction<'_>) -> Result<T>) -> Result<T> {
        self.write_as(Commit::Forced, work)
    }

    /// As [`Self::write`], without waiting for the disk: a power loss may undo the change, the end of
    /// the process does not. For changes that mean nothing until a message follows, or that can be
    /// derived again.
    fn write_unsynced<T>(
        &mut self,
        work: impl FnOnce(&SessionTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        self.write_as(Commit::Logged, work)
    }

    fn write_as<T>(
        &mut self,
        commit: Commit,
        work: impl FnOnce(&SessionTransaction<'_>) -> Result<T>,
    ) -> Result<T> {
        let path = self.path.as_path();
        self.database().write_as(commit, |connection| {
            work(&SessionTransaction {
                connection,
                path,
                now: now(),
            })
        })
    }

    /// Waits until everything that was written is on the disk.
    pub fn force(&self) -> Result<()> {
        Ok(self.database().force()?)
    }

    /// Runs `look` on one snapshot of the file.
    fn read<T>(&self, look: impl FnOnce(&SessionTransaction<'_>) -> Result<T>) -> Result<T> {
        self.database().read(|connection| {
            look(&SessionTransaction {
                connection,
                path: &self.path,
                now: now(),
            })
        })
    }
}

/// Seconds since 1970, UTC, with their fraction.
pub fn now() -> f64 {
    jiff::Timestamp::now().as_duration().as_secs_f64()
}

/// A count as a SQLite integer.
fn count_of(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// One transaction.
struct SessionTransaction<'c> {
    connection: &'c Connection,
    path: &'c Path,
    now: f64,
}

impl SessionTransaction<'_> {
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
