//! Checking and mending `state.db`, the least drastic way that helps.
//!
//! Looking changes nothing. Mending first keeps a copy of the file as it is; then the search index
//! and the indexes are made anew, messages without a session get one, and only if the file is still
//! damaged is everything that can be read copied into a new one that takes its place.

use std::path::{Path, PathBuf};

use hermes_store::rusqlite::Connection;
use hermes_store::{Database, Header, Integrity, OpenOptions};

use crate::error::database_of;
use crate::salvage::{Salvaged, salvage};
use crate::{Error, Result, schema};

/// Findings that a report names at most.
const MAX_FINDINGS: usize = 5;

/// What a look at the file found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// There is no file.
    Missing,
    /// Nothing to do.
    Sound,
    /// What is wrong.
    Ill(Vec<String>),
}

/// How a file was mended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mended {
    /// Indexes were made anew and lost messages found again.
    InPlace,
    /// What could be read was copied into a new file.
    Salvaged(Salvaged),
}

/// What a repair did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Repaired {
    /// What was wrong.
    pub findings: Vec<String>,
    /// The copy of the file as it was.
    pub copy: Option<PathBuf>,
    /// What helped; `None` if nothing was wrong.
    pub mended: Option<Mended>,
}

/// Looks at the sessions of a home. Takes as long as reading the whole file.
pub fn check(home: &Path) -> Result<Health> {
    let path = database_of(home);
    match hermes_store::read_header(&path)? {
        Header::Fresh if !hermes_fs::exists_no_follow(&path) => return Ok(Health::Missing),
        Header::Foreign { .. } => {
            return Err(hermes_store::Error::NotADatabase { path }.into());
        }
        Header::Fresh | Header::Sqlite | Header::InUse => {}
    }
    let mut findings = match hermes_store::integrity_check(&path)? {
        Integrity::Sound => Vec::new(),
        Integrity::Damaged(findings) => without_false_alarm(&path, findings)?,
    };
    if findings.is_empty() {
        findings = inner_findings(&path)?;
    }
    findings.truncate(MAX_FINDINGS);
    Ok(if findings.is_empty() {
        Health::Sound
    } else {
        Health::Ill(findings)
    })
}

/// Mends the sessions of a home. `keep_copy` is only for those who have one already.
pub fn repair(home: &Path, keep_copy: bool) -> Result<Repaired> {
    let path = database_of(home);
    let findings = match check(home)? {
        Health::Missing | Health::Sound => Vec::new(),
        Health::Ill(findings) => findings,
    };
    if findings.is_empty() {
        return Ok(Repaired {
            findings,
            copy: None,
            mended: None,
        });
    }
    let copy = if keep_copy {
        hermes_store::keep_damaged_copy(&path)?
    } else {
        None
    };
    let mended = match mend_in_place(&path) {
        Ok(()) if check(home)? == Health::Sound => Mended::InPlace,
        Ok(()) => Mended::Salvaged(salvage(&path)?),
        Err(error) if error.is_damage() => Mended::Salvaged(salvage(&path)?),
        Err(error) => return Err(error),
    };
    Ok(Repaired {
        findings,
        copy,
        mended: Some(mended),
    })
}

/// Content in parts begins with a NUL, and versions of SQLite disagree about where a trigram index
/// of such a text ends: one calls damaged what the other wrote. An index that answers is not.
fn without_false_alarm(path: &Path, findings: Vec<String>) -> Result<Vec<String>> {
    let is_of_trigrams = |finding: &String| finding.contains("messages_fts_trigram");
    if !findings.iter().all(is_of_trigrams) {
        return Ok(findings);
    }
    let database = Database::open_to_look(path)?;
    let ask = |sql: &str| {
        database
            .connection()
            .query_row(sql, [], |row| row.get::<_, bool>(0))
    };
    let has_parts =
        ask("SELECT EXISTS (SELECT 1 FROM messages WHERE instr(CAST(content AS BLOB), x'00') > 0)");
    let answers = ask("SELECT count(*) >= 0 FROM messages_fts_trigram
         WHERE messages_fts_trigram MATCH '\"the\"'");
    Ok(match (has_parts, answers) {
        (Ok(true), Ok(_)) => Vec::new(),
        _ => findings,
    })
}

/// What SQLite itself does not call damage.
fn inner_findings(path: &Path) -> Result<Vec<String>> {
    let database = Database::open_to_look(path)?;
    let shape = schema::Shape::of(database.connection()).map_err(database.error("check"))?;
    let mut findings = Vec::new();
    if !shape.has_table("messages") || !shape.has_table("sessions") {
        return Ok(findings);
    }
    let count = |sql: &str| -> Result<i64> {
        Ok(database
            .connection()
            .query_row(sql, [], |row| row.get(0))
            .map_err(database.error("check"))?)
    };
    let lost = count(
        "SELECT count(*) FROM messages m
         WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id)",
    )?;
    if lost > 0 {
        findings.push(format!("{lost} messages belong to no session"));
    }
    if shape.lacks_search_index() {
        findings.push("parts of the search index are missing".to_owned());
    } else {
        let unindexed = count(
            "SELECT count(*) FROM messages m WHERE NOT EXISTS
                 (SELECT 1 FROM messages_fts_docsize d WHERE d.id = m.id)
                 OR NOT EXISTS (SELECT 1 FROM messages_fts_trigram_docsize d WHERE d.id = m.id)",
        )?;
        if unindexed > 0 {
            findings.push(format!("{unindexed} messages are not in the search index"));
        }
    }
    Ok(findings)
}

fn mend_in_place(path: &Path) -> Result<()> {
    let mut database = Database::open(
        path,
        &OpenOptions {
            create: false,
            ..OpenOptions::default()
        },
    )?;
    database.write(|connection| {
        schema::rebuild_search_index(connection)
            .and_then(|_| schema::bring_up_to_date(connection))
            .and_then(|()| connection.execute_batch("REINDEX"))
            .and_then(|()| adopt(connection))
            .map_err(hermes_store::Error::sqlite("repair", path))
            .map_err(Error::from)
    })
}

/// Gives messages without a session one, so that they can be listed and exported.
pub(crate) fn adopt(connection: &Connection) -> hermes_store::rusqlite::Result<()> {
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
