//! Closures that were resolved here because no catalog has them: those of plugins. They outlive the
//! environments made of them, so that the hashes of the first install count for every later one.

use std::io::Read as _;
use std::path::{Path, PathBuf};

use hermes_fs::Directory;
use sha2::{Digest, Sha256};

use super::environments::directory_name;
use super::names::LOCKS;
use super::place::Store;
use crate::closure::Closure;
use crate::error::{AddonError, Result};

const MAX_LOCK: u64 = 16 << 20;
/// How the line begins that says what was resolved.
const SPECS: &str = "# for ";
/// Characters of the hash that names a file.
const NAME: usize = 16;

/// A closure that was resolved, and for what.
#[derive(Debug, Clone)]
pub(crate) struct RecordedLock {
    /// The pins that were asked for, sorted.
    pub(crate) specs: Vec<String>,
    pub(crate) closure: Closure,
}

impl RecordedLock {
    /// What is known of a closure for these pins.
    pub(crate) fn new(specs: &[String], lock: &str) -> Option<Self> {
        let text = format!("{SPECS}{}\n{lock}", specs.join(" "));
        Self::parse(&text)
    }

    fn parse(text: &str) -> Option<Self> {
        let specs = text.lines().next()?.strip_prefix(SPECS)?;
        Some(Self {
            specs: specs.split(' ').map(str::to_owned).collect(),
            closure: Closure::parse(text)?,
        })
    }
}

impl Store {
    /// The closures that were resolved for a feature, whatever it asked for then.
    pub(crate) fn locks(&self, feature: &str) -> Vec<RecordedLock> {
        let directory = Directory::open(&self.root)
            .and_then(|root| root.directory(&Path::new(LOCKS).join(directory_name(feature))));
        let Ok(directory) = directory else {
            return Vec::new();
        };
        let entries = directory.entries().unwrap_or_default().into_iter();
        let read = |name: &Path| {
            let (file, _) = directory.open_file(name).ok()?;
            let mut text = String::new();
            file.take(MAX_LOCK).read_to_string(&mut text).ok()?;
            RecordedLock::parse(&text)
        };
        entries
            .filter_map(|entry| read(Path::new(&entry.name)))
            .collect()
    }

    /// The closure that was resolved for these pins of a feature.
    pub(crate) fn lock_for(&self, feature: &str, specs: &[String]) -> Option<RecordedLock> {
        self.locks(feature)
            .into_iter()
            .find(|lock| lock.specs == specs)
    }

    /// The closure with this hash.
    pub(crate) fn lock_with(&self, feature: &str, digest: &str) -> Option<RecordedLock> {
        self.locks(feature)
            .into_iter()
            .find(|lock| lock.closure.digest() == digest)
    }

    pub(crate) fn keep_lock(&self, feature: &str, lock: &RecordedLock) -> Result<()> {
        let failed = |error: hermes_fs::Error| AddonError::store(&self.root, &error);
        let below = Path::new(LOCKS).join(directory_name(feature));
        let root = Directory::open(&self.root).map_err(failed)?;
        root.create_directories(&below, 0o700).map_err(failed)?;
        let digest = hermes_fs::hex(&Sha256::digest(lock.specs.join(" ").as_bytes()));
        let short: String = digest.chars().take(NAME).collect();
        let path = self.root.join(below).join(format!("{short}.txt"));
        hermes_fs::write_atomic(&path, lock.closure.text().as_bytes(), 0o600).map_err(failed)
    }

    /// The directory of a feature's closures, there or not.
    pub(crate) fn locks_path(&self, feature: &str) -> PathBuf {
        self.path(LOCKS).join(directory_name(feature))
    }
}
