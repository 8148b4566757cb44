//! The schema of a board on a server: made once, brought up to date in numbered steps, and never used
//! by a program that is older than it.

use std::time::Duration;

use crate::address::ServerAddress;
use crate::error::{Error, Result};
use crate::raw::Raw;

/// The steps, oldest first. One is never changed after a release; the number of the last is the format.
const STEPS: &[&str] = &[
    include_str!("schema/001_board.sql"),
    include_str!("schema/002_hosts.sql"),
    include_str!("schema/003_files.sql"),
];
/// PostgreSQL 13, the oldest version that Debian still has.
const OLDEST: i64 = 130_000;
/// Creating the tables of a board.
const LIMIT: Duration = Duration::from_mins(1);

/// The format that this program writes.
pub(crate) fn known() -> i64 {
    i64::try_from(STEPS.len()).unwrap_or(i64::MAX)
}

/// What is known of a server and a schema on it.
struct Facts(Vec<Option<String>>);

impl Facts {
    fn text(&self, column: usize) -> Option<&str> {
        self.0.get(column)?.as_deref()
    }

    fn is_true(&self, column: usize) -> bool {
        self.text(column) == Some("t")
    }
}

/// Makes the schema of a board if need be, and refuses one that is not ours to use. `schema` is a name
/// of ours, which needs no escaping.
pub(crate) fn prepare(raw: &Raw, address: &ServerAddress, schema: &str) -> Result<()> {
    check_server(raw, address, schema)?;
    if format_of(raw, address, schema)? == Some(known()) {
        return Ok(());
    }
    // Two programs that open a new board at once: the second finds it made.
    raw.simple(
        &format!(
            "BEGIN; SELECT pg_advisory_xact_lock(hashtext('hermes-board'), hashtext('{schema}'))"
        ),
        LIMIT,
    )?;
    let made = migrate(raw, address, schema);
    let end = if made.is_ok() { "COMMIT" } else { "ROLLBACK" };
    let ended = raw.simple(end, LIMIT);
    made.and(ended.map(drop))
}

/// Refuses a server that cannot hold boards.
pub(crate) fn check_server(raw: &Raw, address: &ServerAddress, schema: &str) -> Result<()> {
    let facts = Facts(raw.simple(
        &format!(
            "SET client_min_messages TO warning; SET search_path TO \"{schema}\";
             SELECT current_setting('server_version_num'), current_setting('server_version'),
                 pg_is_in_recovery()"
        ),
        LIMIT,
    )?);
    let number = facts.text(0).and_then(|text| text.parse().ok());
    if number.is_some_and(|number: i64| number < OLDEST) {
        return Err(Error::TooOld {
            place: address.place(),
            found: facts.text(1).unwrap_or_default().to_owned(),
        });
    }
    if facts.is_true(2) {
        return Err(Error::ReadOnly {
            place: address.place(),
        });
    }
    Ok(())
}

/// The format of a schema: `None` if there is none, 0 if it is empty. One that is newer, or of another
/// program, is refused.
pub(crate) fn format_of(raw: &Raw, address: &ServerAddress, schema: &str) -> Result<Option<i64>> {
    let facts = Facts(raw.simple(
        &format!(
            "SELECT to_regnamespace('\"{schema}\"') IS NOT NULL,
                 EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                     WHERE n.nspname = '{schema}'),
                 EXISTS (SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
                     JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'format'
                     WHERE n.nspname = '{schema}' AND c.relname = 'hermes_board')"
        ),
        LIMIT,
    )?);
    if !facts.is_true(0) {
        return Ok(None);
    }
    if !facts.is_true(1) {
        return Ok(Some(0));
    }
    let foreign = || Error::ForeignSchema {
        schema: schema.to_owned(),
        database: address.database.clone(),
    };
    if !facts.is_true(2) {
        return Err(foreign());
    }
    let row = raw.simple(
        &format!("SELECT format FROM \"{schema}\".hermes_board"),
        LIMIT,
    )?;
    let found = row.first().and_then(|text| text.as_deref()?.parse().ok());
    let found: i64 = found.ok_or_else(foreign)?;
    if found < 0 {
        return Err(moved_away(raw, address, schema));
    }
    if found > known() {
        return Err(Error::Newer {
            schema: schema.to_owned(),
            found,
            known: known(),
        });
    }
    Ok(Some(found))
}

/// Does the missing steps, inside a transaction of the caller's.
fn migrate(raw: &Raw, address: &ServerAddress, schema: &str) -> Result<()> {
    let format = format_of(raw, address, schema)?;
    if format.is_none() {
        raw.simple(&format!("CREATE SCHEMA \"{schema}\""), LIMIT)?;
    }
    for (number, step) in (1..).zip(STEPS) {
        if number > format.unwrap_or(0) {
            raw.simple(step, LIMIT)?;
            raw.simple(&format!("UPDATE hermes_board SET format = {number}"), LIMIT)?;
        }
    }
    Ok(())
}

/// The error about a board that has moved away, with what was noted of it.
fn moved_away(raw: &Raw, address: &ServerAddress, schema: &str) -> Error {
    let noted = raw.simple(
        &format!("SELECT obj_description('\"{schema}\".hermes_board'::regclass, 'pg_class')"),
        LIMIT,
    );
    match noted {
        Ok(row) => Error::MovedAway {
            schema: schema.to_owned(),
            database: address.database.clone(),
            note: row.into_iter().next().flatten().unwrap_or_default(),
        },
        Err(error) => error,
    }
}
