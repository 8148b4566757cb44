//! Runs: accepted once they are on disk, with every event that a client may ask for again.

use std::path::Path;

use hermes_store::Commit;
use hermes_store::rusqlite::{Connection, OptionalExtension as _, Result, params};
use serde_json::{Map, Value};

use super::{TurnLedger, unavailable};
use crate::clock::unix_time;
use crate::http::ApiError;

/// Seconds for which a run can be asked about after its end.
const KEPT: f64 = 3_600.0;
/// Finished runs at most; the oldest go first.
const MOST_FINISHED: i64 = 10_000;
/// Bytes of all that is kept. Beyond that the oldest finished runs go, and then the oldest answers.
pub(super) const MOST_BYTES: i64 = 256 << 20;
/// How many of them at a time.
const FORGOTTEN_AT_ONCE: i64 = 100;
/// Events of a run that can be read again.
pub(crate) const MOST_EVENTS: u64 = 1_000;
/// Events beyond that are removed this many at a time.
const TRIMMED: u64 = 100;

/// A run as it is stored.
#[derive(Debug, Clone)]
pub(crate) struct StoredRun {
    pub(crate) status: Map<String, Value>,
    /// Number and text of each event.
    pub(crate) events: Vec<(u64, String)>,
}

impl TurnLedger {
    /// Takes a run on: it survives a loss of power from here on.
    pub(crate) fn accept_run(
        &self,
        home: &Path,
        id: &str,
        session: &str,
        request: &Value,
        status: &Value,
    ) -> std::result::Result<(), ApiError> {
        let now = unix_time();
        let accepted = self.database.write(home, Commit::Forced, |connection| {
            connection.execute(
                "INSERT INTO turns (id, endpoint, state, session_id, request, status, created_at, \
                     updated_at)
                 VALUES (?1, 'runs', 'accepted', ?2, ?3, ?4, ?5, ?5)",
                params![id, session, request.to_string(), status.to_string(), now],
            )
        });
        accepted.map(drop).map_err(unavailable)
    }

    /// Records an event of a run, and its status with it.
    pub(crate) fn add_event(
        &self,
        home: &Path,
        id: &str,
        event: (u64, &str),
        status: &Map<String, Value>,
        is_over: bool,
    ) -> hermes_store::Result<()> {
        let (number, text) = event;
        self.database.write(home, Commit::Logged, |connection| {
            connection.execute(
                "INSERT OR REPLACE INTO run_events (run_id, number, event) VALUES (?1, ?2, ?3)",
                params![id, signed(number), text],
            )?;
            if number > MOST_EVENTS && number.is_multiple_of(TRIMMED) {
                connection.execute(
                    "DELETE FROM run_events WHERE run_id = ?1 AND number <= ?2",
                    params![id, signed(number - MOST_EVENTS)],
                )?;
            }
            set_status(connection, id, status, is_over)
        })
    }

    /// Records the status of a run.
    pub(crate) fn set_run_status(
        &self,
        home: &Path,
        id: &str,
        status: &Map<String, Value>,
    ) -> hermes_store::Result<()> {
        self.database.write(home, Commit::Logged, |connection| {
            set_status(connection, id, status, false)
        })
    }

    /// Counts a restart that a run went through; survives a loss of power before the run goes on.
    pub(crate) fn count_restart(&self, home: &Path, id: &str) -> std::result::Result<(), ApiError> {
        let counted = self.database.write(home, Commit::Forced, |connection| {
            connection.execute(
                "UPDATE turns SET restarts = restarts + 1 WHERE id = ?1",
                params![id],
            )
        });
        counted.map(drop).map_err(unavailable)
    }

    /// A run with its events.
    pub(crate) fn run(
        &self,
        home: &Path,
        id: &str,
    ) -> std::result::Result<Option<StoredRun>, ApiError> {
        if !self.exists(home) {
            return Ok(None);
        }
        let found = self.database.read(home, |connection| {
            let status = connection
                .query_row(
                    "SELECT status FROM turns WHERE id = ?1 AND endpoint = 'runs'",
                    params![id],
                    |row| row.get::<_, Option<String>>(0),
                )
                .optional()?;
            let Some(status) = status.flatten() else {
                return Ok(None);
            };
            let mut statement = connection.prepare(
                "SELECT number, event FROM run_events WHERE run_id = ?1 ORDER BY number",
            )?;
            let events = statement.query_map(params![id], |row| {
                let number: i64 = row.get(0)?;
                Ok((u64::try_from(number).unwrap_or_default(), row.get(1)?))
            })?;
            Ok(Some(StoredRun {
                status: serde_json::from_str(&status).unwrap_or_default(),
                events: events.collect::<Result<Vec<_>>>()?,
            }))
        });
        found.map_err(unavailable)
    }

    /// Forgets runs that ended long ago.
    pub(super) fn forget_runs(&self, home: &Path) -> std::result::Result<(), ApiError> {
        const OLD: &str = "SELECT id FROM turns WHERE endpoint = 'runs' AND state = 'over'
             AND (updated_at < ?1 OR id NOT IN (
                 SELECT id FROM turns WHERE endpoint = 'runs' AND state = 'over'
                 ORDER BY updated_at DESC, id DESC LIMIT ?2))";
        let forgotten = self.database.write(home, Commit::Logged, |connection| {
            let limits = params![unix_time() - KEPT, MOST_FINISHED];
            connection.execute(
                &format!("DELETE FROM run_events WHERE run_id IN ({OLD})"),
                limits,
            )?;
            connection.execute(&format!("DELETE FROM turns WHERE id IN ({OLD})"), limits)
        });
        forgotten.map(drop).map_err(unavailable)
    }

    /// Forgets more than that where it takes too many bytes.
    pub(super) fn forget_excess(
        &self,
        home: &Path,
        most_bytes: i64,
    ) -> std::result::Result<(), ApiError> {
        let forgotten = self.database.write(home, Commit::Logged, |connection| {
            while bytes_in_use(connection)? > most_bytes {
                if forget_oldest(connection)? == 0 {
                    break;
                }
            }
            Ok(())
        });
        forgotten.map_err(unavailable)
    }
}

/// Bytes of the file that hold something.
fn bytes_in_use(connection: &Connection) -> Result<i64> {
    let number = |name: &str| connection.pragma_query_value(None, name, |row| row.get::<_, i64>(0));
    Ok((number("page_count")? - number("freelist_count")?) * number("page_size")?)
}

/// Forgets the oldest finished runs; where there are none, the oldest answers. Gives how many.
fn forget_oldest(connection: &Connection) -> Result<usize> {
    const OLDEST: &str = "SELECT id FROM turns WHERE endpoint = 'runs' AND state = 'over'
         ORDER BY updated_at, id LIMIT ?1";
    connection.execute(
        &format!("DELETE FROM run_events WHERE run_id IN ({OLDEST})"),
        params![FORGOTTEN_AT_ONCE],
    )?;
    let runs = connection.execute(
        &format!("DELETE FROM turns WHERE id IN ({OLDEST})"),
        params![FORGOTTEN_AT_ONCE],
    )?;
    if runs > 0 {
        return Ok(runs);
    }
    connection.execute(
        "DELETE FROM answers WHERE key IN (SELECT key FROM answers WHERE body IS NOT NULL
             ORDER BY created_at LIMIT ?1)",
        params![FORGOTTEN_AT_ONCE],
    )
}

fn set_status(
    connection: &Connection,
    id: &str,
    status: &Map<String, Value>,
    is_over: bool,
) -> Result<()> {
    let text = Value::Object(status.clone()).to_string();
    let statement = if is_over {
        // What was asked for is not needed any more, and may be large.
        "UPDATE turns SET status = ?2, updated_at = ?3, state = 'over', request = 'null', calls = '[]'
         WHERE id = ?1"
    } else {
        "UPDATE turns SET status = ?2, updated_at = ?3 WHERE id = ?1"
    };
    connection.execute(statement, params![id, text, unix_time()])?;
    Ok(())
}

fn signed(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
