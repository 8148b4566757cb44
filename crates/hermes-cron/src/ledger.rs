//! `cron/executions.db`: every attempt at a run, and every run that did not happen.
//!
//! The table of attempts is the reference's, with a column more. An attempt is `claimed` before it is
//! `running`, and `running` before anything starts; so of one whose owner has died it is known whether
//! it can have had an effect.

use std::collections::BTreeSet;

use hermes_proc::{is_zombie, start_time_of};
use hermes_store::rusqlite::{self, Row, params};
use hermes_store::{Database, OpenOptions};
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;

use crate::error::Result;
use crate::home::CronHome;
use crate::plan::Missed;
use crate::stamp::{Stamp, written};

/// Finished attempts, and missed runs, that are kept.
const KEPT: i64 = 1000;

const SCHEMA: &str = "
CREATE TABLE IF NOT EXISTS executions (
  id TEXT PRIMARY KEY,
  job_id TEXT NOT NULL,
  source TEXT NOT NULL,
  process_id TEXT NOT NULL,
  pid INTEGER NOT NULL,
  process_started_at INTEGER,
  status TEXT NOT NULL CHECK(status IN ('claimed','running','completed','failed','unknown')),
  claimed_at TEXT NOT NULL,
  started_at TEXT,
  finished_at TEXT,
  error TEXT
);
CREATE INDEX IF NOT EXISTS idx_executions_job_claimed
  ON executions(job_id, claimed_at DESC, id DESC);
CREATE INDEX IF NOT EXISTS idx_executions_status_claimed
  ON executions(status, claimed_at DESC, id DESC);
CREATE TABLE IF NOT EXISTS missed_runs (
  id INTEGER PRIMARY KEY,
  job_id TEXT NOT NULL,
  job_name TEXT NOT NULL,
  first_due TEXT NOT NULL,
  last_due TEXT NOT NULL,
  count INTEGER NOT NULL CHECK(count > 0),
  reason TEXT NOT NULL,
  recorded_at TEXT NOT NULL,
  UNIQUE(job_id, first_due)
) STRICT;
";

/// The history of all jobs of a profile.
#[derive(Debug)]
pub struct Ledger {
    database: Database,
    /// Which process of ours wrote an attempt.
    process: String,
    zone: TimeZone,
}

/// One attempt at a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Execution {
    pub id: String,
    pub job_id: String,
    pub source: String,
    pub status: String,
    /// The time that the run is for.
    pub scheduled_at: Option<String>,
    pub claimed_at: String,
    pub started_at: Option<String>,
    pub finished_at: Option<String>,
    pub error: Option<String>,
}

/// Runs of one job that were due and did not happen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct MissedRun {
    pub job_id: String,
    pub job_name: String,
    pub first_due: String,
    pub last_due: String,
    pub count: u64,
    pub reason: String,
    pub recorded_at: String,
}

/// An attempt whose owner has died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Abandoned {
    pub(crate) execution: String,
    pub(crate) job: String,
    pub(crate) slot: Option<Timestamp>,
    /// Whether it can have had an effect.
    pub(crate) was_running: bool,
}

/// A new attempt.
#[derive(Debug)]
pub(crate) struct NewExecution<'a> {
    pub(crate) id: &'a str,
    pub(crate) job: &'a str,
    /// Who asked for it: `builtin` (it was due) or `direct`.
    pub(crate) source: &'static str,
    pub(crate) slot: Timestamp,
}

impl Ledger {
    /// Opens the history, and begins one where there is none.
    pub fn open(home: &CronHome, zone: &TimeZone) -> Result<Self> {
        home.ensure()?;
        let database = Database::open(&home.ledger(), &OpenOptions::default())?;
        let connection = database.connection();
        connection
            .execute_batch(SCHEMA)
            .map_err(database.error("set up"))?;
        let has_slot = connection
            .prepare("SELECT 1 FROM pragma_table_info('executions') WHERE name = 'scheduled_at'")
            .and_then(|mut statement| statement.exists([]))
            .map_err(database.error("read"))?;
        if !has_slot {
            let added =
                connection.execute_batch("ALTER TABLE executions ADD COLUMN scheduled_at TEXT");
            // Another process may have been faster.
            if let Err(error) = added
                && !error.to_string().contains("duplicate column")
            {
                return Err(database.error("set up")(error).into());
            }
        }
        Ok(Self {
            process: hermes_fs::random_hex(32),
            zone: zone.clone(),
            database,
        })
    }

    /// Records claims and missed runs, all or none.
    pub(crate) fn record(
        &self,
        claims: &[NewExecution<'_>],
        missed: &[(&str, &str, &Missed)],
        now: Timestamp,
    ) -> Result<()> {
        if claims.is_empty() && missed.is_empty() {
            return Ok(());
        }
        self.write("record runs in", |connection| {
            let stamp = |at| written(at, &self.zone);
            let pid = std::process::id();
            for claim in claims {
                connection.execute(
                    "INSERT INTO executions (id, job_id, source, process_id, pid, \
                     process_started_at, status, claimed_at, scheduled_at) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, 'claimed', ?7, ?8)",
                    params![
                        claim.id,
                        claim.job,
                        claim.source,
                        self.process,
                        pid,
                        start_time_of(pid).and_then(|start| i64::try_from(start).ok()),
                        stamp(now),
                        stamp(claim.slot)
                    ],
                )?;
            }
            for (job, name, missed) in missed {
                // Recorded before the jobs file is written: after a crash it comes again.
                connection.execute(
                    "INSERT OR IGNORE INTO missed_runs \
                     (job_id, job_name, first_due, last_due, count, reason, recorded_at) \
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                    params![
                        job,
                        name,
                        stamp(missed.first),
                        stamp(missed.last),
                        i64::try_from(missed.count).unwrap_or(i64::MAX),
                        missed.reason.text(),
                        stamp(now)
                    ],
                )?;
            }
            connection.execute(
                "DELETE FROM missed_runs WHERE id IN \
                 (SELECT id FROM missed_runs ORDER BY id DESC LIMIT -1 OFFSET ?1)",
                [KEPT],
            )?;
            Ok(())
        })
    }

    /// Notes that an attempt is about to have effects. `false` if it is not ours any more.
    pub(crate) fn begin(&self, execution: &str, now: Timestamp) -> Result<bool> {
        let changed = self
            .database
            .connection()
            .execute(
                "UPDATE executions SET status='running', started_at=?1 \
                 WHERE id=?2 AND status='claimed'",
                params![written(now, &self.zone), execution],
            )
            .map_err(self.database.error("record a run in"))?;
        Ok(changed == 1)
    }

    /// Notes how an attempt ended.
    pub(crate) fn finish(
        &self,
        execution: &str,
        error: Option<&str>,
        now: Timestamp,
    ) -> Result<()> {
        self.write("record a run in", |connection| {
            let status = if error.is_some() {
                "failed"
            } else {
                "completed"
            };
            connection.execute(
                "UPDATE executions SET status=?1, finished_at=?2, error=?3 \
                 WHERE id=?4 AND status IN ('claimed','running')",
                params![status, written(now, &self.zone), error, execution],
            )?;
            connection.execute(
                "DELETE FROM executions WHERE id IN (SELECT id FROM executions \
                 WHERE status IN ('completed','failed','unknown') \
                 ORDER BY claimed_at DESC, id DESC LIMIT -1 OFFSET ?1)",
                [KEPT],
            )?;
            Ok(())
        })
    }

    /// Jobs with an attempt under way, and attempts whose owner has died.
    pub(crate) fn under_way(&self) -> Result<(BTreeSet<String>, Vec<Abandoned>)> {
        let rows = self.query(
            "SELECT id, job_id, pid, process_started_at, status, scheduled_at, process_id \
             FROM executions WHERE status IN ('claimed','running')",
            [],
            |row| {
                let slot: Option<String> = row.get(5)?;
                let abandoned = Abandoned {
                    execution: row.get(0)?,
                    job: row.get(1)?,
                    slot: slot
                        .and_then(|slot| Stamp::parse(&slot))
                        .map(|stamp| stamp.at),
                    was_running: row.get::<_, String>(4)? == "running",
                };
                let is_own = row.get::<_, String>(6)? == self.process;
                let is_live = is_own || owner_lives(row.get(2)?, row.get(3)?);
                Ok((abandoned, is_live))
            },
        )?;
        let (live, dead): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(_, is_live)| *is_live);
        Ok((
            live.into_iter().map(|(attempt, _)| attempt.job).collect(),
            dead.into_iter().map(|(attempt, _)| attempt).collect(),
        ))
    }

    /// Notes that the owner of an attempt has died.
    pub(crate) fn abandon(&self, attempt: &Abandoned, now: Timestamp) -> Result<()> {
        let error = if attempt.was_running {
            "the process that ran it ended before it did; whether it had an effect is unknown"
        } else {
            "the process that claimed it ended before the run began"
        };
        self.database
            .connection()
            .execute(
                "UPDATE executions SET status='unknown', finished_at=?1, error=?2 \
                 WHERE id=?3 AND status IN ('claimed','running')",
                params![written(now, &self.zone), error, attempt.execution],
            )
            .map_err(self.database.error("record a run in"))?;
        Ok(())
    }

    /// The latest attempts, newest first; of one job if it is named.
    pub fn executions(&self, job: Option<&str>, limit: u32) -> Result<Vec<Execution>> {
        self.query(
            "SELECT id, job_id, source, status, scheduled_at, claimed_at, started_at, finished_at, \
             error FROM executions WHERE ?1 IS NULL OR job_id = ?1 \
             ORDER BY claimed_at DESC, id DESC LIMIT ?2",
            params![job, limit],
            |row| {
                Ok(Execution {
                    id: row.get(0)?,
                    job_id: row.get(1)?,
                    source: row.get(2)?,
                    status: row.get(3)?,
                    scheduled_at: row.get(4)?,
                    claimed_at: row.get(5)?,
                    started_at: row.get(6)?,
                    finished_at: row.get(7)?,
                    error: row.get(8)?,
                })
            },
        )
    }

    /// The latest missed runs, newest first; of one job if it is named.
    pub fn missed_runs(&self, job: Option<&str>, limit: u32) -> Result<Vec<MissedRun>> {
        self.query(
            "SELECT job_id, job_name, first_due, last_due, count, reason, recorded_at \
             FROM missed_runs WHERE ?1 IS NULL OR job_id = ?1 ORDER BY id DESC LIMIT ?2",
            params![job, limit],
            |row| {
                Ok(MissedRun {
                    job_id: row.get(0)?,
                    job_name: row.get(1)?,
                    first_due: row.get(2)?,
                    last_due: row.get(3)?,
                    count: row.get::<_, i64>(4)?.unsigned_abs(),
                    reason: row.get(5)?,
                    recorded_at: row.get(6)?,
                })
            },
        )
    }

    /// Makes an attempt look as if its owner had died.
    #[cfg(test)]
    pub(crate) fn lose_owner(&self, execution: &str) {
        self.database
            .connection()
            .execute(
                "UPDATE executions SET process_id='gone', process_started_at=1 WHERE id=?1",
                [execution],
            )
            .unwrap();
    }

    fn query<T>(
        &self,
        sql: &str,
        parameters: impl rusqlite::Params,
        read: impl FnMut(&Row<'_>) -> rusqlite::Result<T>,
    ) -> Result<Vec<T>> {
        let rows = self
            .database
            .connection()
            .prepare_cached(sql)
            .and_then(|mut statement| statement.query_map(parameters, read)?.collect());
        Ok(rows.map_err(self.database.error("read"))?)
    }

    fn write(
        &self,
        action: &'static str,
        change: impl FnOnce(&rusqlite::Connection) -> rusqlite::Result<()>,
    ) -> Result<()> {
        let connection = self.database.connection();
        let run = || {
            let transaction = rusqlite::Transaction::new_unchecked(
                connection,
                rusqlite::TransactionBehavior::Immediate,
            )?;
            change(&transaction)?;
            transaction.commit()
        };
        Ok(run().map_err(self.database.error(action))?)
    }
}

/// Whether the process that wrote an attempt lives. Without its start time any process of that pid
/// is taken for it.
fn owner_lives(pid: u32, started: Option<i64>) -> bool {
    let Some(current) = start_time_of(pid) else {
        return false;
    };
    !is_zombie(pid)
        && started.is_none_or(|started| u64::try_from(started).is_ok_and(|at| at == current))
}
