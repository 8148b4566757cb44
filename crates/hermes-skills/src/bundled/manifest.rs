//! `skills/.bundled_manifest`: one line `name:hash` for each skill that was copied, which tells a
//! stale copy from one that the user changed. The reference keeps its own skills in the same file;
//! its lines stay as they are.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Largest file that is read.
const MAX_BYTES: u64 = 1024 * 1024;

/// Hashes by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifest {
    hashes: BTreeMap<String, String>,
}

impl Manifest {
    pub(super) fn load(skills: &Path) -> hermes_fs::Result<Self> {
        let bytes = hermes_fs::read_optional(&file(skills), MAX_BYTES)?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
        let hashes = lines.map(|line| match line.split_once(':') {
            Some((name, hash)) => (name.trim().to_owned(), hash.trim().to_owned()),
            None => (line.to_owned(), String::new()),
        });
        Ok(Self {
            hashes: hashes.collect(),
        })
    }

    pub(super) fn save(&self, skills: &Path) -> hermes_fs::Result<()> {
        let lines = self
            .hashes
            .iter()
            .map(|(name, hash)| format!("{name}:{hash}\n"));
        let text: String = lines.collect();
        hermes_fs::write_atomic(&file(skills), text.as_bytes(), 0o600)
    }

    /// The hash of the copy that was made.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.hashes.get(name).map(String::as_str)
    }

    pub(super) fn set(&mut self, name: &str, hash: String) {
        self.hashes.insert(name.to_owned(), hash);
    }

    pub(super) fn remove(&mut self, name: &str) -> bool {
        self.hashes.remove(name).is_some()
    }
}

fn file(skills: &Path) -> PathBuf {
    skills.join(".bundled_manifest")
}

/// The hash of a text.
pub(super) fn hash_of(text: &[u8]) -> String {
    let digest = Sha256::digest(text);
    hermes_fs::hex(&digest).chars().take(32).collect()
}
