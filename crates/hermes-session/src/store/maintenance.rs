//! Keeping the file small: merging the search index, returning space, automatic pruning.

use std::time::Duration;

use hermes_store::rusqlite::params;

use super::SessionStore;
use crate::store::filter::SessionFilter;
use crate::{Result, SessionId};

/// Key of the time of the last automatic pruning.
const LAST_PRUNE: &str = "last_auto_prune";

const META: &str = "SELECT value FROM state_meta WHERE key = ?1";
const SET_META: &str = "INSERT INTO state_meta (key, value) VALUES (?1, ?2)
    ON CONFLICT(key) DO UPDATE SET value = excluded.value";

/// Bytes of the database and its write-ahead log.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Optimized {
    pub before: u64,
    pub after: u64,
}

/// Settings of automatic pruning.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AutoPrune {
    /// How long a session is kept after it ended.
    pub retention: Duration,
    /// Minimum time between two prunings.
    pub interval: Duration,
    /// Whether the file is compacted afterwards.
    pub vacuum: bool,
}

impl SessionStore {
    /// Merges the segments of the search index and returns unused space. Waits for other writers and
    /// blocks them.
    pub fn optimize(&mut self) -> Result<Optimized> {
        let before = self.bytes()?;
        let database = self.database();
        let connection = database.connection();
        for statement in [
            "INSERT INTO messages_fts(messages_fts) VALUES ('optimize')",
            "INSERT INTO messages_fts_trigram(messages_fts_trigram) VALUES ('optimize')",
            "VACUUM",
        ] {
            connection
                .execute_batch(statement)
                .map_err(database.error("optimize"))?;
        }
        // Moves the write-ahead log into the file, as far as readers allow.
        connection
            .query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))
            .map_err(database.error("optimize"))?;
        drop(database);
        Ok(Optimized {
            before,
            after: self.bytes()?,
        })
    }

    /// A value that is kept beside the sessions.
    pub fn meta(&self, key: &str) -> Result<Option<String>> {
        self.read(|transaction| {
            let value = transaction.row(META, params![key], |row| row.get(0))?;
            Ok(value.flatten())
        })
    }

    /// Keeps a value beside the sessions.
    pub fn set_meta(&mut self, key: &str, value: &str) -> Result<()> {
        self.write(|transaction| {
            transaction.execute(SET_META, params![key, value])?;
            Ok(())
        })
    }

    /// Prunes if the interval has passed; returns the deleted sessions then. Of several processes
    /// that start at once, one prunes.
    pub fn prune_if_due(&mut self, rules: &AutoPrune) -> Result<Option<Vec<SessionId>>> {
        let now = super::now();
        let interval = rules.interval.as_secs_f64();
        let is_ours = self.write(|transaction| {
            let last: Option<f64> = transaction
                .row(META, params![LAST_PRUNE], |row| {
                    row.get::<_, Option<String>>(0)
                })?
                .flatten()
                .and_then(|text| text.parse().ok());
            // A time in the future is ignored: a clock was wrong.
            if last.is_some_and(|last| (last..last + interval).contains(&now)) {
                return Ok(false);
            }
            transaction.execute(SET_META, params![LAST_PRUNE, now.to_string()])?;
            Ok(true)
        })?;
        if !is_ours {
            return Ok(None);
        }
        let removed = self.prune(&SessionFilter {
            ended_before: Some(now - rules.retention.as_secs_f64()),
            ..SessionFilter::default()
        })?;
        if rules.vacuum && !removed.is_empty() {
            self.optimize()?;
        }
        Ok(Some(removed))
    }

    pub(super) fn bytes(&self) -> Result<u64> {
        Ok(hermes_fs::metadata(&self.path)?.len() + hermes_store::wal_size(&self.path)?)
    }
}
