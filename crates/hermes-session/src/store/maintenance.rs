//! Keeping the file small: merging the search index, giving space back, pruning by itself.

use std::time::Duration;

use hermes_store::rusqlite::params;

use super::SessionStore;
use crate::store::filter::SessionFilter;
use crate::{Result, SessionId};

/// Where the time of the last automatic pruning is kept.
const LAST_PRUNE: &str = "last_auto_prune";

/// Bytes of the database and its log before and after.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Optimized {
    /// Before.
    pub before: u64,
    /// After.
    pub after: u64,
}

/// When sessions are pruned without being asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AutoPrune {
    /// How long a session is kept after it ended.
    pub retention: Duration,
    /// Time between two prunings.
    pub interval: Duration,
    /// Whether the file is made smaller afterwards.
    pub vacuum: bool,
}

/// What an automatic pruning did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AutoPruned {
    /// The last one was not long ago.
    NotDue,
    /// These sessions went.
    Done(Vec<SessionId>),
}

impl SessionStore {
    /// Merges the parts of the search index and gives unused space back. Waits for other writers,
    /// and lets them wait.
    pub fn optimize(&mut self) -> Result<Optimized> {
        let before = self.bytes()?;
        for statement in [
            "INSERT INTO messages_fts(messages_fts) VALUES ('optimize')",
            "INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES ('optimize')",
            "VACUUM",
        ] {
            self.run_alone(statement)?;
        }
        self.checkpoint()?;
        Ok(Optimized {
            before,
            after: self.bytes()?,
        })
    }

    /// Prunes if that is due. Of several processes that start at once one does it.
    pub fn prune_if_due(&mut self, rules: &AutoPrune) -> Result<AutoPruned> {
        let now = self.now();
        let interval = rules.interval.as_secs_f64();
        let is_ours = self.write(|scope| {
            let last: Option<f64> = scope
                .row(
                    "SELECT value FROM state_meta WHERE key = ?1",
                    params![LAST_PRUNE],
                    |row| row.get::<_, Option<String>>(0),
                )?
                .flatten()
                .and_then(|text| text.parse().ok());
            // A moment of the future says nothing: a clock was wrong.
            if last.is_some_and(|last| (last..last + interval).contains(&now)) {
                return Ok(false);
            }
            scope.execute(
                "INSERT INTO state_meta (key, value) VALUES (?1, ?2)
                 ON CONFLICT(key) DO UPDATE SET value = excluded.value",
                params![LAST_PRUNE, now.to_string()],
            )?;
            Ok(true)
        })?;
        if !is_ours {
            return Ok(AutoPruned::NotDue);
        }
        let removed = self.prune(&SessionFilter {
            ended_before: Some(now - rules.retention.as_secs_f64()),
            ..SessionFilter::default()
        })?;
        if rules.vacuum && !removed.is_empty() {
            self.optimize()?;
        }
        Ok(AutoPruned::Done(removed))
    }

    /// A value that programs keep beside the sessions.
    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        self.read(|scope| {
            let value = scope.row(
                "SELECT value FROM state_meta WHERE key = ?1",
                params![key],
                |row| row.get(0),
            )?;
            Ok(value.flatten())
        })
    }

    fn run_alone(&self, statement: &str) -> Result<()> {
        self.database
            .connection()
            .execute_batch(statement)
            .map_err(self.database.error("optimize"))?;
        Ok(())
    }

    /// Moves the log into the file, as far as readers allow.
    fn checkpoint(&self) -> Result<()> {
        self.database
            .connection()
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(self.database.error("optimize"))?;
        Ok(())
    }

    fn bytes(&self) -> Result<u64> {
        Ok(hermes_fs::metadata(&self.path)?.len() + hermes_store::wal_size(&self.path)?)
    }
}
