//! The integrity record of an environment: every file with mode, size and SHA-256.

use std::collections::BTreeMap;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Kind};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::environments::Generation;
use super::names::{RECORD, SITE};
use super::place::Store;

const MAX_RECORD: u64 = 64 << 20;
const CHUNK: usize = 64 * 1024;

/// What was installed, by whom and for what.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Record {
    pub(crate) schema: u32,
    pub(crate) feature: String,
    pub(crate) generation: String,
    pub(crate) abi: String,
    pub(crate) interpreter: PathBuf,
    pub(crate) installer: RecordedInstaller,
    pub(crate) lock_sha256: String,
    pub(crate) created_at: String,
    pub(crate) packages: Vec<RecordedPackage>,
    pub(crate) files: usize,
    pub(crate) bytes: u64,
    pub(crate) tree_sha256: String,
    /// Path, mode, size and SHA-256.
    pub(crate) entries: Vec<(String, u32, u64, String)>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RecordedInstaller {
    pub(crate) tool: String,
    pub(crate) version: String,
}

/// A package that was installed.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct RecordedPackage {
    pub(crate) name: String,
    pub(crate) version: String,
}

/// How an environment differs from its record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Damage {
    pub(crate) checked: usize,
    pub(crate) missing: Vec<String>,
    pub(crate) changed: Vec<String>,
    pub(crate) extra: Vec<String>,
}

impl Damage {
    pub(crate) fn is_none(&self) -> bool {
        self.missing.is_empty() && self.changed.is_empty() && self.extra.is_empty()
    }
}

/// All files below a directory, sorted by path. An error is a sentence.
pub(crate) fn read_tree(site: &Path) -> Result<Vec<(String, u32, u64, String)>, String> {
    let root = Directory::open(site).map_err(|error| error.to_string())?;
    let mut entries = Vec::new();
    root.walk(&mut |relative, entry| {
        let entry = entry.map_err(|error| error.to_string())?;
        if entry.kind != Kind::Dir {
            let (mode, size, hash) = look_at(&root, relative, true)?;
            entries.push((name_of(relative), mode, size, hash));
        }
        Ok::<bool, String>(true)
    })?;
    entries.sort();
    Ok(entries)
}

/// Mode, size and, if wanted, the hash of a file. Something else than a file has no hash that a
/// record could hold.
fn look_at(root: &Directory, relative: &Path, hashed: bool) -> Result<(u32, u64, String), String> {
    let (mut file, meta) = match root.open_file(relative) {
        Ok(opened) => opened,
        Err(hermes_fs::Error::SymlinkInPath { .. }) => return Ok((0, 0, "link".to_owned())),
        Err(error) => return Err(error.to_string()),
    };
    let mut hash = String::new();
    if hashed {
        let mut digest = Sha256::new();
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = file.read(&mut chunk).map_err(|error| error.to_string())?;
            match chunk.get(..count) {
                Some([]) | None => break,
                Some(bytes) => digest.update(bytes),
            }
        }
        hash = hermes_fs::hex(&digest.finalize());
    }
    Ok((meta.mode() & 0o7777, meta.len(), hash))
}

fn name_of(relative: &Path) -> String {
    relative.to_string_lossy().into_owned()
}

/// One hash over all entries.
pub(crate) fn tree_digest(entries: &[(String, u32, u64, String)]) -> String {
    let mut digest = Sha256::new();
    for (path, mode, size, hash) in entries {
        digest.update(format!("{path}\0{mode:o}\0{size}\0{hash}\n"));
    }
    hermes_fs::hex(&digest.finalize())
}

impl Record {
    /// Reads the record of a generation. An error is a sentence.
    pub(crate) fn load(store: &Store, generation: &Generation) -> Result<Self, String> {
        let root = Directory::open(&store.root).map_err(|error| error.to_string())?;
        let relative = generation.relative().join(RECORD);
        let (file, _) = root
            .open_file(&relative)
            .map_err(|error| error.to_string())?;
        let mut bytes = Vec::new();
        let read = file.take(MAX_RECORD).read_to_end(&mut bytes);
        read.map_err(|error| error.to_string())?;
        let record: Self = serde_json::from_slice(&bytes)
            .map_err(|error| format!("the record cannot be read: {error}"))?;
        let is_own = record.feature == generation.feature
            && record.generation == generation.name
            && record.tree_sha256 == tree_digest(&record.entries);
        if is_own {
            Ok(record)
        } else {
            Err("the record does not belong to the environment it lies in".to_owned())
        }
    }

    /// Compares the environment with the record: every byte, or sizes and modes only.
    pub(crate) fn compare(
        &self,
        store: &Store,
        generation: &Generation,
        fast: bool,
    ) -> Result<Damage, String> {
        let root = Directory::open(&store.root).map_err(|error| error.to_string())?;
        let site = root.directory(&generation.relative().join(SITE));
        let site = site.map_err(|error| error.to_string())?;
        let mut left: BTreeMap<&str, (u32, u64, &str)> = self
            .entries
            .iter()
            .map(|(path, mode, size, hash)| (path.as_str(), (*mode, *size, hash.as_str())))
            .collect();
        let mut damage = Damage::default();
        site.walk(&mut |relative, entry| {
            let entry = entry.map_err(|error| error.to_string())?;
            if entry.kind == Kind::Dir {
                return Ok::<bool, String>(true);
            }
            let name = name_of(relative);
            damage.checked += 1;
            let Some((mode, size, hash)) = left.remove(name.as_str()) else {
                damage.extra.push(name);
                return Ok(true);
            };
            let same = match look_at(&site, relative, !fast) {
                Ok((found_mode, found_size, found_hash)) => {
                    found_mode == mode && found_size == size && (fast || found_hash == hash)
                }
                // A file that cannot be read is not what was installed.
                Err(_) => false,
            };
            if !same {
                damage.changed.push(name);
            }
            Ok(true)
        })?;
        damage.missing = left.into_keys().map(str::to_owned).collect();
        Ok(damage)
    }
}
