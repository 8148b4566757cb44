//! Checking and repairing `state.db`, with the least drastic method that helps.
//!
//! A check changes nothing. A repair first copies the damaged file; then it rebuilds the search
//! index and the indexes and gives orphaned messages a session. Only if the file is still damaged is
//! everything readable copied into a new file that replaces it.

use std::path::{Path, PathBuf};

use hermes_store::{Database, Header, Integrity, OpenOptions};

use crate::error::database_path;
use crate::salvage::{Salvaged, adopt_orphans, salvage};
use crate::{Error, Result, schema};

/// Findings that a report names at most.
const MAX_FINDINGS: usize = 5;

/// The result of a check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    Missing,
    Sound,
    /// Damage, one finding per entry.
    Damaged(Vec<String>),
}

/// How a file was repaired.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RepairMethod {
    /// Indexes were rebuilt and orphaned messages given a session.
    InPlace,
    /// Everything readable was copied into a new file.
    Salvaged(Salvaged),
}

/// What a repair found and did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RepairReport {
    pub findings: Vec<String>,
    pub copy: Option<PathBuf>,
    /// The method that helped; `None` if nothing was damaged.
    pub method: Option<RepairMethod>,
}

/// Checks the session database of a home. Reads the whole file.
pub fn check(home: &Path) -> Result<Health> {
    let path = database_path(home);
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
        findings = content_findings(&path)?;
    }
    findings.truncate(MAX_FINDINGS);
    Ok(if findings.is_empty() {
        Health::Sound
    } else {
        Health::Damaged(findings)
    })
}

/// Repairs the session database of a home, after copying the damaged file if `keep_copy`.
pub fn repair(home: &Path, keep_copy: bool) -> Result<RepairReport> {
    let path = database_path(home);
    let findings = match check(home)? {
        Health::Missing | Health::Sound => Vec::new(),
        Health::Damaged(findings) => findings,
    };
    if findings.is_empty() {
        return Ok(RepairReport {
            findings,
            copy: None,
            method: None,
        });
    }
    let copy = if keep_copy {
        hermes_store::keep_damaged_copy(&path)?
    } else {
        None
    };
    let method = match repair_in_place(&path) {
        Ok(()) if check(home)? == Health::Sound => RepairMethod::InPlace,
        Ok(()) => RepairMethod::Salvaged(salvage(&path)?),
        Err(error) if error.is_damage() => RepairMethod::Salvaged(salvage(&path)?),
        Err(error) => return Err(error),
    };
    Ok(RepairReport {
        findings,
        copy,
        method: Some(method),
    })
}

/// Drops false alarms. Content in parts begins with a NUL, and versions of SQLite disagree about
/// where a trigram index of such a text ends: one calls damaged what the other wrote. An index that
/// answers a query is sound.
fn without_false_alarm(path: &Path, findings: Vec<String>) -> Result<Vec<String>> {
    let is_of_trigrams = |finding: &String| finding.contains("messages_fts_trigram");
    if !findings.iter().all(is_of_trigrams) {
        return Ok(findings);
    }
    let database = Database::open_for_inspection(path)?;
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

/// Damage that SQLite's integrity check does not see.
fn content_findings(path: &Path) -> Result<Vec<String>> {
    let database = Database::open_for_inspection(path)?;
    let shape =
        schema::ExistingSchema::of(database.connection()).map_err(database.error("check"))?;
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
    let orphans = count(
        "SELECT count(*) FROM messages m
         WHERE NOT EXISTS (SELECT 1 FROM sessions s WHERE s.id = m.session_id)",
    )?;
    if orphans > 0 {
        findings.push(format!("{orphans} messages belong to no session"));
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

fn repair_in_place(path: &Path) -> Result<()> {
    let mut database = Database::open(
        path,
        &OpenOptions {
            create: false,
            ..OpenOptions::default()
        },
    )?;
    database.write(|connection| {
        schema::rebuild_search_index(connection)
            .and_then(|()| schema::bring_up_to_date(connection))
            .and_then(|()| connection.execute_batch("REINDEX"))
            .and_then(|()| adopt_orphans(connection))
            .map_err(hermes_store::Error::sqlite("repair", path))
            .map_err(Error::from)
    })
}
