//! Copying what can be read of a damaged file into a new one, which then takes its place.
//!
//! Each table is read from its beginning until the damage and from its end back to it, so that one
//! torn page costs what is on it and no more.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use hermes_store::rusqlite::types::Value;
use hermes_store::rusqlite::{self, Connection, params_from_iter};
use hermes_store::{Database, OpenOptions};

use crate::repair::adopt;
use crate::{Result, schema};

/// Tables that hold what people said and what programs must remember. The others are made anew.
const TABLES: [&str; 5] = [
    "sessions",
    "messages",
    "session_model_usage",
    "state_meta",
    "gateway_routing",
];

/// What was saved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
pub struct Salvaged {
    /// Sessions, including those made for messages whose session was lost.
    pub sessions: i64,
    /// Messages.
    pub messages: i64,
}

/// Puts a new file with everything readable in the place of `path`.
pub(crate) fn salvage(path: &Path) -> Result<Salvaged> {
    refuse_in_use(path)?;
    let new = beside(path, &format!(".salvage-{}", std::process::id()));
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
    // What was torn apart fits together again only once all of it is there.
    new.connection()
        .pragma_update(None, "foreign_keys", false)
        .map_err(failed)?;
    let saved = new.write(|connection| -> Result<Salvaged> {
        schema::bring_up_to_date(connection).map_err(failed)?;
        for table in TABLES {
            copy_table(old.connection(), connection, table).map_err(failed)?;
        }
        adopt(connection).map_err(failed)?;
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
    // A table whose description is lost cannot be read at all.
    let shared: Vec<String> = match columns(old, table) {
        Ok(found) => found
            .into_iter()
            .filter(|name| known.contains(name))
            .collect(),
        Err(error) => {
            tracing::warn!(table, %error, "nothing could be read of a table");
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
        // The first error is the edge of the damage; the other direction comes from behind it.
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

/// Replacing a file under a process that has it open would lose what it writes.
fn refuse_in_use(path: &Path) -> Result<()> {
    let Ok(database) = Database::open(
        path,
        &OpenOptions {
            create: false,
            busy_timeout: std::time::Duration::from_secs(1),
            ..OpenOptions::default()
        },
    ) else {
        // Too damaged to be open anywhere.
        return Ok(());
    };
    // Leaving the log needs the file for oneself.
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

fn beside(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    name.into()
}
