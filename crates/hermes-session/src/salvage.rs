//! Copying everything readable of a damaged file into a new one, which then replaces it.
//!
//! Each table is read forwards up to the damage and backwards from its end, so that one torn page
//! costs only the rows on it.

use std::collections::HashSet;
use std::path::Path;

use hermes_store::rusqlite::types::Value;
use hermes_store::rusqlite::{self, Connection, params_from_iter};
use hermes_store::{Database, OpenOptions};

use crate::{Result, schema};

/// Tables with content. The others are created empty.
const TABLES: [&str; 5] = [
    "sessions",
    "messages",
    "session_model_usage",
    "state_meta",
    "gateway_routing",
];

/// What was recovered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Salvaged {
    /// Sessions, including those created for orphaned messages.
    pub sessions: i64,
    pub messages: i64,
}

/// Replaces the file at `path` with a new one that holds everything readable.
pub(crate) fn salvage(path: &Path) -> Result<Salvaged> {
    refuse_in_use(path)?;
    let new = path.with_added_extension(format!("salvage-{}", std::process::id()));
    remove_with_sidecars(&new)?;
    let saved = copy_readable(path, &new).and_then(|saved| {
        // The log of the damaged file must never be replayed into the new one.
        for sidecar in hermes_store::sidecars(path) {
            hermes_fs::remove_file_if_present(&sidecar)?;
        }
        hermes_fs::rename(&new, path)?;
        Ok(saved)
    });
    if saved.is_err() {
        remove_with_sidecars(&new)?;
    }
    saved
}

fn copy_readable(from: &Path, to: &Path) -> Result<Salvaged> {
    let old = Database::open_for_salvage(from)?;
    let mut new = Database::open(to, &OpenOptions::default())?;
    let failed = |source| hermes_store::Error::sqlite("write to", to)(source);
    // References resolve only once all tables are copied.
    new.connection()
        .pragma_update(None, "foreign_keys", false)
        .map_err(failed)?;
    let saved = new.write(|connection| -> Result<Salvaged> {
        schema::bring_up_to_date(connection).map_err(failed)?;
        for table in TABLES {
            copy_table(old.connection(), connection, table).map_err(failed)?;
        }
        adopt_orphans(connection).map_err(failed)?;
        let count = |sql: &str| connection.query_row(sql, [], |row| row.get(0));
        Ok(Salvaged {
            sessions: count("SELECT count(*) FROM sessions").map_err(failed)?,
            messages: count("SELECT count(*) FROM messages").map_err(failed)?,
        })
    })?;
    new.connection()
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .map_err(failed)?;
    drop(new);
    hermes_store::integrity_check(to)?.into_result(to)?;
    Ok(saved)
}

fn copy_table(old: &Connection, new: &Connection, table: &str) -> rusqlite::Result<()> {
    let known = columns(new, table)?;
    // A table whose definition is lost cannot be read at all.
    let shared: Vec<String> = match columns(old, table) {
        Ok(found) => found
            .into_iter()
            .filter(|name| known.contains(name))
            .collect(),
        Err(error) => {
            tracing::warn!(table, %error, "a table could not be read");
            Vec::new()
        }
    };
    if shared.is_empty() {
        return Ok(());
    }
    let names = shared.join(", ");
    let places: Vec<String> = (1..=shared.len()).map(|at| format!("?{at}")).collect();
    let mut insert = new.prepare(&format!(
        "INSERT OR IGNORE INTO {table} ({names}) VALUES ({})",
        places.join(", ")
    ))?;
    let mut seen: HashSet<i64> = HashSet::new();
    for direction in ["ASC", "DESC"] {
        let sql = format!("SELECT rowid, {names} FROM {table} ORDER BY rowid {direction}");
        let Ok(mut statement) = old.prepare(&sql) else {
            continue;
        };
        let Ok(mut rows) = statement.query([]) else {
            continue;
        };
        // The first error is the edge of the damage; the other direction reads what is behind it.
        while let Ok(Some(row)) = rows.next() {
            let Ok(rowid) = row.get::<_, i64>(0) else {
                continue;
            };
            if !seen.insert(rowid) {
                break;
            }
            let values: rusqlite::Result<Vec<Value>> =
                (1..=shared.len()).map(|at| row.get(at)).collect();
            match values {
                Ok(values) => drop(insert.execute(params_from_iter(values))?),
                Err(error) => tracing::warn!(table, rowid, %error, "a row was lost"),
            }
        }
    }
    Ok(())
}

fn columns(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    connection
        .prepare("SELECT name FROM pragma_table_info(?1)")?
        .query_map([table], |row| row.get(0))?
        .collect()
}

/// Refuses if another process has the file open: what that process writes would be lost.
fn refuse_in_use(path: &Path) -> Result<()> {
    let Ok(database) = Database::open(
        path,
        &OpenOptions {
            create: false,
            busy_timeout: std::time::Duration::from_secs(1),
            ..OpenOptions::default()
        },
    ) else {
        // Too damaged for any process to have it open.
        return Ok(());
    };
    // Leaving WAL mode needs exclusive access.
    let alone = database
        .connection()
        .query_row("PRAGMA journal_mode = DELETE", [], |_| Ok(()))
        .map_err(database.error("repair"));
    match alone {
        Err(error) if error.is_retryable() => Err(error.into()),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn remove_with_sidecars(path: &Path) -> Result<()> {
    for file in hermes_store::sidecars(path) {
        hermes_fs::remove_file_if_present(&file)?;
    }
    hermes_fs::remove_file_if_present(path)?;
    Ok(())
}

/// Creates sessions for messages that have none, so that they can be listed and exported.
pub(crate) fn adopt_orphans(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(
        "INSERT INTO sessions (id, source, started_at, ended_at, end_reason, message_count)
         SELECT m.session_id, 'recovered', min(m.timestamp), max(m.timestamp), 'recovered', count(*)
         FROM messages m
         WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id)
         GROUP BY m.session_id;
         UPDATE sessions SET parent_session_id = NULL
         WHERE parent_session_id IS NOT NULL
             AND NOT EXISTS (SELECT 1 FROM sessions p WHERE p.id = sessions.parent_session_id);",
    )
}
