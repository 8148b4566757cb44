//! Notes about a board that moves from one place to another, kept in the comment on the table that every
//! change writes to. What a note says is known in `hermes-board`.
//!
//! The format of a board that has moved away is negative, so that nobody can change it who has it open,
//! of whatever version.

use std::time::Duration;

use crate::board_address::BoardAddress;
use crate::connection::Connection;
use crate::error::Result;
use crate::raw::Raw;
use crate::schema;

/// Time for a few short statements.
const LIMIT: Duration = Duration::from_mins(1);
/// How long a transaction that copies a board may wait for the other side.
const COPYING: Duration = Duration::from_mins(15);

/// What is in the schema of a board.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SchemaState {
    /// No schema, or an empty one.
    Nothing,
    /// A board that is in use, or was made to be.
    Board {
        cards: i64,
        /// The number of the last change.
        version: i64,
        note: Option<String>,
    },
    /// What a board left behind when it moved away.
    MovedAway,
}

/// Looks at the schema of a board without making one. One that is not ours to use is refused.
pub fn look_at(place: &BoardAddress) -> Result<SchemaState> {
    let (raw, _) = Raw::connect(&place.address, &place.passwords)?;
    schema::check_server(&raw, &place.address, &place.schema)?;
    match schema::format_of(&raw, &place.address, &place.schema) {
        Ok(None | Some(0)) => return Ok(SchemaState::Nothing),
        Ok(Some(_)) => {}
        Err(crate::Error::MovedAway { .. }) => return Ok(SchemaState::MovedAway),
        Err(error) => return Err(error),
    }
    let schema = &place.schema;
    let row = raw.simple(
        &format!(
            "SELECT (SELECT count(*) FROM \"{schema}\".tasks), version,
                 obj_description('\"{schema}\".hermes_board'::regclass, 'pg_class')
             FROM \"{schema}\".hermes_board"
        ),
        LIMIT,
    )?;
    let number = |column: usize| row.get(column)?.as_deref()?.parse().ok();
    Ok(SchemaState::Board {
        cards: number(0).unwrap_or(0),
        version: number(1).unwrap_or(0),
        note: row.get(2).cloned().flatten(),
    })
}

/// Renames what a board left behind, so that its place is free.
pub fn set_aside(place: &BoardAddress, name: &str) -> Result<()> {
    let (raw, _) = Raw::connect(&place.address, &place.passwords)?;
    let sql = format!("ALTER SCHEMA \"{}\" RENAME TO \"{name}\"", place.schema);
    raw.simple(&sql, LIMIT).map(drop)
}

/// Takes a board back into use that was about to move away; changes nothing on one that is in use.
pub fn take_back(place: &BoardAddress) -> Result<()> {
    let (raw, _) = Raw::connect(&place.address, &place.passwords)?;
    let schema = &place.schema;
    raw.simple(
        &format!(
            "BEGIN; SET search_path TO \"{schema}\";
             UPDATE hermes_board SET format = -format WHERE format < 0;
             COMMENT ON TABLE hermes_board IS NULL; COMMIT"
        ),
        LIMIT,
    )
    .map(drop)
}

impl Connection {
    /// Writes the note, or removes it. Inside a transaction of the caller's.
    pub fn note(&self, note: Option<&str>) -> Result<()> {
        let text = note.map_or_else(|| "NULL".to_owned(), quoted);
        let sql = format!("COMMENT ON TABLE hermes_board IS {text}");
        self.raw.simple(&sql, LIMIT).map(drop)
    }

    /// Marks the board as moved away. Inside a transaction of the caller's.
    pub fn leave(&self, note: &str) -> Result<()> {
        self.note(Some(note))?;
        let sql = "UPDATE hermes_board SET format = -format WHERE format > 0";
        self.raw.simple(sql, LIMIT).map(drop)
    }

    /// Lets the transaction wait longer than others for its next statement.
    pub fn begin_copy(&self) -> Result<()> {
        let sql = format!(
            "SET LOCAL idle_in_transaction_session_timeout = {}",
            COPYING.as_millis()
        );
        self.raw.simple(&sql, LIMIT).map(drop)
    }

    /// The number of the last change, this one included. Inside a transaction of the caller's.
    pub fn own_version(&self) -> Result<i64> {
        self.version()
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}
