//! A group of writes that happens as a whole or not at all.
//!
//! SQLite waits for a lock by itself, but writers that wait equally long collide again: beginning and
//! committing are retried a few times after a random pause. The work between them runs once.

use rusqlite::Connection;

use crate::database::pause_within;
use crate::location::log_of;
use crate::{Database, Error, JournalMode, Result};

/// Tries of a beginning or a commit after the first.
const RETRIES: u32 = 5;
/// Bounds of the pause before each.
const PAUSE_MS: std::ops::Range<u64> = 20..150;

/// What a commit waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Commit {
    /// The disk.
    Forced,
    /// The log: the write survives the end of this process, however sudden. A loss of power may undo
    /// it until any later commit is forced, because forcing the one log includes what comes before.
    /// For writes that promise nothing until such a later commit.
    Logged,
}

impl Database {
    /// Runs `work` in a transaction that takes the write lock at once. Committed if `work` gives
    /// `Ok`, undone if it gives `Err` or panics.
    pub fn write<T, E: From<Error>>(
        &mut self,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.write_as(Commit::Forced, work)
    }

    /// As [`Self::write`], forced to the disk or not.
    pub fn write_as<T, E: From<Error>>(
        &mut self,
        commit: Commit,
        work: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        let _relaxed = match commit {
            // A rollback journal is only sound if it is forced.
            Commit::Logged if self.journal() == JournalMode::WriteAhead => Some(self.relax_sync()?),
            Commit::Logged | Commit::Forced => None,
        };
        self.boundary("BEGIN IMMEDIATE")?;
        let undo = RollbackOnDrop(self.connection());
        let value = work(self.connection())?;
        hermes_fs::fault::point();
        self.boundary("COMMIT")?;
        hermes_fs::fault::point();
        std::mem::forget(undo);
        Ok(value)
    }

    /// Waits until everything that was committed is on the disk.
    pub fn force(&self) -> Result<()> {
        match self.journal() {
            JournalMode::WriteAhead => Ok(hermes_fs::sync_file(&log_of(self.path()))?),
            // Every commit was forced.
            JournalMode::Rollback => Ok(()),
        }
    }

    /// Commits do not wait for the disk until the returned value is dropped.
    fn relax_sync(&self) -> Result<RelaxedSync<'_>> {
        let connection = self.connection();
        connection
            .pragma_update(None, "synchronous", "NORMAL")
            .map_err(self.error("write to"))?;
        Ok(RelaxedSync(connection))
    }

    /// Runs `look` in a read transaction: all its queries see the same state.
    pub fn read<T, E: From<Error>>(
        &self,
        look: impl FnOnce(&Connection) -> std::result::Result<T, E>,
    ) -> std::result::Result<T, E> {
        self.boundary("BEGIN")?;
        let undo = RollbackOnDrop(self.connection());
        let value = look(self.connection())?;
        drop(undo);
        Ok(value)
    }

    fn boundary(&self, statement: &str) -> Result<()> {
        let mut left = RETRIES;
        loop {
            match run(self.connection(), statement) {
                Ok(()) => return Ok(()),
                Err(source) => {
                    let error = self.error("write to")(source);
                    if !error.is_retryable() || left == 0 {
                        return Err(error);
                    }
                    left -= 1;
                    std::thread::sleep(pause_within(PAUSE_MS));
                }
            }
        }
    }
}

/// Runs a statement without parameters. It is kept ready: parsing takes longer than beginning.
fn run(connection: &Connection, statement: &str) -> rusqlite::Result<()> {
    connection.prepare_cached(statement)?.execute([]).map(drop)
}

/// Lets commits wait for the disk again, however the function is left.
struct RelaxedSync<'c>(&'c Connection);

impl Drop for RelaxedSync<'_> {
    fn drop(&mut self) {
        // Fails only inside a transaction, and it has ended.
        drop(self.0.pragma_update(None, "synchronous", "FULL"));
    }
}

/// Ends the transaction without its changes, however the function is left.
struct RollbackOnDrop<'c>(&'c Connection);

impl Drop for RollbackOnDrop<'_> {
    fn drop(&mut self) {
        // After a full disk or an I/O error SQLite may have undone everything by itself.
        if !self.0.is_autocommit() {
            drop(run(self.0, "ROLLBACK"));
        }
    }
}
