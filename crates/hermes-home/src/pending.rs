//! Changes to memory and skills that wait for the user's approval: one JSON file each in
//! `pending/memory/` and `pending/skills/`, which the reference reads and writes, too.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Largest file of a change that is read.
const MAX_BYTES: u64 = 4 * 1024 * 1024;
/// Most changes that are listed.
const MOST: usize = 1_000;
/// Digits of an id.
const ID_DIGITS: usize = 8;

/// A change that waits.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PendingWrite {
    pub id: String,
    pub subsystem: String,
    #[serde(default)]
    pub action: String,
    /// One line for people.
    #[serde(default)]
    pub summary: String,
    /// `foreground`, or what else made it.
    #[serde(default)]
    pub origin: String,
    /// Seconds since 1970.
    #[serde(default)]
    pub created_at: f64,
    /// The arguments of the call.
    pub payload: Value,
}

/// The waiting changes of one kind in a home.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PendingWrites {
    directory: PathBuf,
    subsystem: &'static str,
}

impl PendingWrites {
    /// Those to what the agent remembers.
    pub fn memory(home: &Path) -> Self {
        Self::new(home, "memory")
    }

    /// Those to skills.
    pub fn skills(home: &Path) -> Self {
        Self::new(home, "skills")
    }

    fn new(home: &Path, subsystem: &'static str) -> Self {
        Self {
            directory: home.join("pending").join(subsystem),
            subsystem,
        }
    }

    /// Keeps a change; gives its id.
    pub fn stage(&self, summary: &str, payload: Value) -> hermes_fs::Result<String> {
        hermes_fs::create_dir_all(&self.directory, 0o700)?;
        let id = hermes_fs::random_hex(ID_DIGITS);
        let record = PendingWrite {
            id: id.clone(),
            subsystem: self.subsystem.to_owned(),
            action: payload["action"].as_str().unwrap_or_default().to_owned(),
            summary: summary.trim().to_owned(),
            origin: "foreground".to_owned(),
            created_at: Timestamp::now().as_duration().as_secs_f64(),
            payload,
        };
        let text = serde_json::to_vec_pretty(&record).unwrap_or_default();
        hermes_fs::write_atomic(&self.file(&id), &text, 0o600)?;
        Ok(id)
    }

    /// All that wait, oldest first. Files that are no such record are left out.
    pub fn list(&self) -> Vec<PendingWrite> {
        let entries = hermes_fs::read_dir(&self.directory).unwrap_or_default();
        let files = entries.into_iter().map(|entry| entry.path);
        let files = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
        let mut records: Vec<PendingWrite> =
            files.filter_map(|path| read(&path)).take(MOST).collect();
        records.sort_by(|one, other| one.created_at.total_cmp(&other.created_at));
        records
    }

    /// The change of this id.
    pub fn get(&self, id: &str) -> Option<PendingWrite> {
        is_id(id).then(|| read(&self.file(id))).flatten()
    }

    /// Forgets a change; `false` if there is none of this id.
    pub fn discard(&self, id: &str) -> hermes_fs::Result<bool> {
        if !is_id(id) {
            return Ok(false);
        }
        hermes_fs::remove_file_if_present(&self.file(id))
    }

    fn file(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }
}

fn read(path: &Path) -> Option<PendingWrite> {
    let bytes = hermes_fs::read_capped(path, MAX_BYTES).ok()?;
    let record: PendingWrite = serde_json::from_slice(&bytes).ok()?;
    // The id is the name by which it is found again.
    let named = path.file_stem().and_then(|stem| stem.to_str());
    (named == Some(record.id.as_str()) && is_id(&record.id)).then_some(record)
}

fn is_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 64 && id.bytes().all(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn changes_wait_until_they_are_discarded() {
        let home = tempfile::tempdir().unwrap();
        let waiting = PendingWrites::memory(home.path());
        assert!(waiting.list().is_empty());
        let id = waiting.stage("add", json!({"action": "add"})).unwrap();
        let damaged = home.path().join("pending/memory/x.json");
        hermes_fs::write_atomic(&damaged, b"{", 0o600).unwrap();
        let listed = waiting.list();
        assert_eq!(listed.len(), 1);
        assert_eq!(waiting.get(&id).unwrap().payload, json!({"action": "add"}));
        for other in ["", "../x", "nosuch"] {
            assert!(waiting.get(other).is_none() && !waiting.discard(other).unwrap());
        }
        assert!(waiting.discard(&id).unwrap() && waiting.list().is_empty());
    }
}
