//! Notes that a move leaves: on the board it moved away from, and on the copy until it is switched to.
//!
//! In a file: a number in its header, which costs nothing to look at, a table with the note, and
//! triggers that keep other programs from writing. On a server: see `hermes_board_pg`.

use std::path::Path;

use hermes_board_pg as pg;
use hermes_store::rusqlite::{Connection, OptionalExtension};
use serde::{Deserialize, Serialize};

use crate::boards::{Board, BoardServer, TickLock, database_in};
use crate::schema::TABLES;
use crate::sqlite::File;
use crate::sqlite::open::failed_on;
use crate::{Error, Result};

/// `user_version` of a file with a note: "MOVE". The reference leaves it at 0.
const MARK: i64 = 0x4d4f_5645;
/// What each trigger is called, before table and event.
const TRIGGER: &str = "hermes_moved";
const EVENTS: [&str; 3] = ["INSERT", "UPDATE", "DELETE"];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum NoteKind {
    /// The board was here.
    Moved,
    /// The board will be here once it is switched to.
    Copied,
}

/// A note about a move.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Note {
    kind: NoteKind,
    /// What `board.json` says once the move is done.
    to: String,
    /// The same for people.
    shown: String,
    /// The installation that moves the board.
    host: String,
    directory: String,
    /// The number of the last change on a server when the copy was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
}

impl Note {
    pub(super) fn new(
        kind: NoteKind,
        to: &str,
        board: &Board,
        target: &Board,
        version: Option<i64>,
    ) -> Self {
        let (host, directory) = installation(board);
        let shown = match &target.server {
            Some(_) => target.shown_database(),
            None => format!("{} on {host}", target.shown_database()),
        };
        Self {
            kind,
            to: to.to_owned(),
            shown,
            host,
            directory,
            version,
        }
    }

    pub(super) fn at_version(&self, version: i64) -> Self {
        Self {
            version: Some(version),
            ..self.clone()
        }
    }

    pub(super) fn is_moved(&self) -> bool {
        self.kind == NoteKind::Moved
    }

    pub(super) fn text(&self) -> String {
        // A structure of texts and a number always has a form.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Whether a note is about a copy that this installation has made and nobody has changed.
    pub(super) fn is_same_copy(&self, text: &str) -> bool {
        let found: Option<Self> = serde_json::from_str(text).ok();
        found.is_some_and(|found| {
            found.kind == NoteKind::Copied
                && (found.host, found.directory) == (self.host.clone(), self.directory.clone())
                && found.version == self.version
        })
    }

    fn is_of(&self, board: &Board) -> bool {
        (self.host.clone(), self.directory.clone()) == installation(board)
    }

    /// Whether the board was switched to where it moved to.
    fn is_confirmed(&self, board: &Board) -> bool {
        let now = database_in(&board.metadata_file());
        self.kind == NoteKind::Moved && matches!(now, Ok(Some(database)) if database == self.to)
    }

    fn error(&self) -> Error {
        Error::Moved {
            to: self.shown.clone(),
        }
    }
}

/// What tells the boards of one installation from those of another.
fn installation(board: &Board) -> (String, String) {
    let name = rustix::system::uname();
    let host = name.nodename().to_string_lossy().into_owned();
    (host, board.directory.display().to_string())
}

/// The note of a file.
pub(super) fn read(connection: &Connection, path: &Path) -> Result<Option<Note>> {
    let failed = || failed_on(path, "read");
    let mark: i64 = connection
        .prepare_cached("PRAGMA user_version")
        .and_then(|mut statement| statement.query_row([], |row| row.get(0)))
        .map_err(failed())?;
    if mark != MARK {
        return Ok(None);
    }
    let text: Option<String> = connection
        .query_row("SELECT note FROM hermes_moved", [], |row| row.get(0))
        .optional()
        .map_err(failed())?;
    Ok(text.and_then(|text| serde_json::from_str(&text).ok()))
}

/// Refuses a file that the board has moved away from: somebody has had it open since before.
pub(crate) fn refuse_moved(connection: &Connection, path: &Path) -> Result<()> {
    match read(connection, path)? {
        Some(note) => Err(note.error()),
        None => Ok(()),
    }
}

pub(super) fn mark(connection: &Connection, path: &Path, note: &Note) -> Result<()> {
    unmark(connection, path)?;
    let literal = |text: &str| text.replace('\'', "''");
    let mut sql = format!(
        "CREATE TABLE hermes_moved (note TEXT NOT NULL);
         INSERT INTO hermes_moved VALUES ('{}');
         PRAGMA user_version = {MARK};",
        literal(&note.text())
    );
    if note.is_moved() {
        let message = literal(&note.error().to_string());
        for table in TABLES {
            let name = table.name;
            for event in EVENTS {
                sql.push_str(&format!(
                    "CREATE TRIGGER {TRIGGER}_{name}_{event} BEFORE {event} ON {name}
                     BEGIN SELECT RAISE(ABORT, '{message}'); END;"
                ));
            }
        }
    }
    batch(connection, path, &sql)
}

pub(super) fn unmark(connection: &Connection, path: &Path) -> Result<()> {
    let mut sql = String::new();
    for table in TABLES {
        for event in EVENTS {
            let name = table.name;
            sql.push_str(&format!("DROP TRIGGER IF EXISTS {TRIGGER}_{name}_{event};"));
        }
    }
    sql.push_str("DROP TABLE IF EXISTS hermes_moved; PRAGMA user_version = 0;");
    batch(connection, path, &sql)
}

/// Refuses a file that the board has moved away from. A note of a move that came to nothing, or is
/// done, is removed.
pub(crate) fn settle_file(file: &mut File, board: &Board) -> Result<()> {
    let Some(note) = read(file.database.connection(), &board.database)? else {
        return Ok(());
    };
    unfinished(&note, board)?;
    let path = &board.database;
    file.database.write(|connection| unmark(connection, path))
}

/// As [`settle_file`], for a server that says that the board has moved away.
pub(crate) fn settle_server(note: &str, board: &Board, server: &BoardServer) -> Result<()> {
    let Ok(note) = serde_json::from_str::<Note>(note) else {
        return Err(Error::moved_by(note));
    };
    if !note.is_of(board) {
        return Err(note.error());
    }
    unfinished(&note, board)?;
    Ok(pg::take_back(server.place().map_err(pg::Error::from)?)?)
}

/// Refuses unless the move that left the note is over and came to nothing. Whoever moves a board holds
/// the lock of its dispatcher to the end.
fn unfinished(note: &Note, board: &Board) -> Result<()> {
    if note.is_confirmed(board) {
        return Err(note.error());
    }
    let TickLock::Held(_lock) = TickLock::take(board) else {
        return Err(note.error());
    };
    if note.is_confirmed(board) {
        return Err(note.error());
    }
    Ok(())
}

/// Runs statements on a file.
fn batch(connection: &Connection, path: &Path, sql: &str) -> Result<()> {
    let done = connection.execute_batch(sql);
    done.map_err(failed_on(path, "write to"))
}
