//! Asking SQLite whether a file is sound. Checks read; they never repair.

use std::path::Path;

use crate::{Database, Error, Result};

/// Findings reported at most; more of them say nothing new.
const MAX_FINDINGS: u32 = 20;

/// Verdict on a database file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Integrity {
    /// Nothing found.
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

fn check(path: &Path, pragma: &str) -> Result<Integrity> {
    let findings = match Database::open_read_only(path) {
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
