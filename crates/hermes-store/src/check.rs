//! Asking SQLite whether a file is sound. A check only reads; it never repairs.

use std::path::Path;

use crate::{Database, Error, Result};

/// Findings reported at most; more of them say nothing new.
const MAX_FINDINGS: u32 = 20;

/// Verdict on a database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrity {
    Sound,
    /// What SQLite found, in its words.
    Damaged(Vec<String>),
}

impl Integrity {
    /// Turns damage into an error that names the file.
    pub fn into_result(self, path: &Path) -> Result<()> {
        match self {
            Self::Sound => Ok(()),
            Self::Damaged(findings) => Err(Error::Corrupt {
                path: path.to_owned(),
                detail: findings.join("; "),
            }),
        }
    }
}

/// Full check: pages, order, and every index against its table.
pub fn integrity_check(path: &Path) -> Result<Integrity> {
    check(path, "integrity_check")
}

/// Faster check that leaves out the comparison of indexes with tables.
pub fn quick_check(path: &Path) -> Result<Integrity> {
    check(path, "quick_check")
}

/// As [`quick_check`], but without creating the side files an ordinary reader of a write-ahead log
/// needs. `None` if that is not possible because there is a log that no process has open.
pub fn quick_check_untouched(path: &Path) -> Result<Option<Integrity>> {
    let [_, index, _] = crate::sidecars(path);
    if crate::wal_size(path)? == 0 {
        let verdict = verdict(Database::open_immutable(path), "quick_check")?;
        if verdict == Integrity::Sound {
            return Ok(Some(verdict));
        }
        // Read without locks, a file may look damaged because a process is writing: check again.
    } else if !hermes_fs::exists_no_follow(&index) {
        return Ok(None);
    }
    quick_check(path).map(Some)
}

fn check(path: &Path, pragma: &str) -> Result<Integrity> {
    verdict(Database::open_read_only(path), pragma)
}

fn verdict(opened: Result<Database>, pragma: &str) -> Result<Integrity> {
    let findings = match opened {
        Ok(database) => run(&database, pragma),
        Err(error) => Err(error),
    };
    match findings {
        Ok(lines) if lines.len() == 1 && lines.first().is_some_and(|line| line == "ok") => {
            Ok(Integrity::Sound)
        }
        Ok(lines) => Ok(Integrity::Damaged(lines)),
        // Damage so bad that the check itself cannot go on is still an answer.
        Err(Error::Corrupt { detail, .. }) => Ok(Integrity::Damaged(vec![detail])),
        Err(error) => Err(error),
    }
}

fn run(database: &Database, pragma: &str) -> Result<Vec<String>> {
    let mut lines = Vec::new();
    database
        .connection()
        .pragma(None, pragma, MAX_FINDINGS, |row| {
            lines.push(row.get(0)?);
            Ok(())
        })
        .map_err(database.error("check"))?;
    Ok(lines)
}
