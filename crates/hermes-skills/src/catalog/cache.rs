//! What was read of skills, kept in a file: looking at a file is cheap, reading and parsing hundreds
//! is not.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::IndexedSkill;

/// Changes with what is kept of a skill.
const VERSION: u32 = 1;
/// Largest cache that is read.
const MAX_BYTES: u64 = 8 * 1024 * 1024;
/// Files that changed this short a time ago may change once more and keep their time.
const SETTLED: Duration = Duration::from_secs(1);

/// When a file was changed, its size and its inode.
type Stamp = (i64, i64, u64, u64);

#[derive(Debug, Default, Serialize, Deserialize)]
struct Kept {
    version: u32,
    #[serde(default)]
    skills: BTreeMap<PathBuf, (Stamp, IndexedSkill)>,
    #[serde(default)]
    categories: BTreeMap<PathBuf, (Stamp, String)>,
}

/// The cache while a catalogue is made.
#[derive(Debug, Default)]
pub(super) struct Cache {
    file: Option<PathBuf>,
    old: Kept,
    new: Kept,
    is_changed: bool,
}

impl Cache {
    /// Reads it; one that is damaged or of another version counts as empty.
    pub(super) fn load(file: &Path) -> Self {
        let bytes = hermes_fs::read_optional(file, MAX_BYTES).ok().flatten();
        let old = bytes.and_then(|bytes| serde_json::from_slice::<Kept>(&bytes).ok());
        let old = old.filter(|old| old.version == VERSION).unwrap_or_default();
        Self {
            file: Some(file.to_owned()),
            old,
            new: Kept {
                version: VERSION,
                ..Kept::default()
            },
            is_changed: false,
        }
    }

    /// What is known of a skill, read anew if the file has changed.
    pub(super) fn skill(
        &mut self,
        file: &Path,
        read: impl FnOnce() -> IndexedSkill,
    ) -> IndexedSkill {
        let Some(stamp) = stamp(file) else {
            return read();
        };
        let known = self.old.skills.remove(file);
        let entry = match known.filter(|(known, _)| *known == stamp) {
            Some(entry) => entry,
            None => {
                self.is_changed = true;
                (stamp, read())
            }
        };
        let skill = entry.1.clone();
        self.new.skills.insert(file.to_owned(), entry);
        skill
    }

    /// What a category says of itself; `None` without such a file.
    pub(super) fn category(
        &mut self,
        file: &Path,
        read: impl FnOnce() -> String,
    ) -> Option<String> {
        if !file.is_file() {
            return None;
        }
        let Some(stamp) = stamp(file) else {
            return Some(read());
        };
        let known = self.old.categories.remove(file);
        let entry = match known.filter(|(known, _)| *known == stamp) {
            Some(entry) => entry,
            None => {
                self.is_changed = true;
                (stamp, read())
            }
        };
        let text = entry.1.clone();
        self.new.categories.insert(file.to_owned(), entry);
        Some(text)
    }

    /// Keeps what was read, if anything has changed. Without success everything is read again.
    pub(super) fn save(&self) {
        let is_changed =
            self.is_changed || !self.old.skills.is_empty() || !self.old.categories.is_empty();
        let (Some(file), true) = (&self.file, is_changed) else {
            return;
        };
        let saved = serde_json::to_vec(&self.new).map_err(|error| error.to_string());
        let saved = saved.and_then(|bytes| {
            if let Some(parent) = file.parent() {
                hermes_fs::create_dir_all(parent, 0o700).map_err(|error| error.to_string())?;
            }
            hermes_fs::write_atomic(file, &bytes, 0o600).map_err(|error| error.to_string())
        });
        if let Err(error) = saved {
            tracing::debug!(error, "the catalogue of skills was not kept");
        }
    }
}

/// What tells one content of a file from another; `None` if it may still change unnoticed.
fn stamp(file: &Path) -> Option<Stamp> {
    let meta = hermes_fs::metadata(file).ok()?;
    let age = SystemTime::now()
        .duration_since(meta.modified().ok()?)
        .ok()?;
    (age > SETTLED).then(|| (meta.ctime(), meta.ctime_nsec(), meta.size(), meta.ino()))
}
