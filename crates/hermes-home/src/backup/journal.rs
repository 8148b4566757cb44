//! The journal of an import: what has been decided and must be carried through.
//!
//! Owns the names of an import's own files, the format of the journal, and the moves. See the
//! module above for the order of things.

use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use hermes_fs::{Directory, FileLock, LockOptions};
use serde::{Deserialize, Serialize};

use super::{Error, Result, SkippedFile};
use crate::database::is_database;

/// Begins the name of every file of ours in the root.
const OWN_PREFIX: &str = ".import.";
const JOURNAL: &str = ".import.journal";
const LOCK: &str = ".import.lock";
const STAGING_PREFIX: &str = ".import.tmp-";
/// Version of the journal's format.
const VERSION: u32 = 1;
/// Largest journal read: millions of moves.
const MAX_JOURNAL: u64 = 1 << 30;

/// Whether an entry of the root belongs to an import.
pub(super) fn is_own_name(name: &str) -> bool {
    name.starts_with(OWN_PREFIX)
}

/// What finishing an interrupted import did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Recovered {
    /// Files of the backup that are now in place, those moved before the interruption included.
    pub restored: u64,
    pub skipped: Vec<SkippedFile>,
}

/// Finishes an import that was interrupted after it was decided. Costs one look at the root when
/// there is none. An import that is running is waited for.
pub fn recover(root: &Path) -> Result<Option<Recovered>> {
    if !is_interrupted(root) {
        return Ok(None);
    }
    let _lock = lock(root)?;
    finish_interrupted(root)
}

/// Whether an import was interrupted after it was decided, or is at work right now.
pub fn is_interrupted(root: &Path) -> bool {
    hermes_fs::exists_no_follow(&root.join(JOURNAL))
}

/// Takes the lock under which imports change the root.
pub(super) fn lock(root: &Path) -> Result<FileLock> {
    let options = LockOptions::new("the import into this home");
    Ok(FileLock::acquire(&root.join(LOCK), &options)?)
}

/// As [`recover`], for a holder of the lock.
pub(super) fn finish_interrupted(root: &Path) -> Result<Option<Recovered>> {
    match ImportJournal::load(root)? {
        Some(journal) => journal.roll_forward(root).map(Some),
        None => Ok(None),
    }
}

/// What an import has decided to do.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ImportJournal {
    version: u32,
    /// Name of the directory in the root that holds the new files.
    pub(super) staging: String,
    /// Directories to exist afterwards.
    pub(super) directories: Vec<String>,
    /// Files to move from the staging directory to the same path below the root.
    pub(super) moves: Vec<String>,
}

impl ImportJournal {
    /// A decision to do nothing yet, for a staging directory.
    pub(super) fn new(staging: &Path) -> Self {
        let name = staging.file_name().unwrap_or_default();
        Self {
            version: VERSION,
            staging: name.to_string_lossy().into_owned(),
            directories: Vec::new(),
            moves: Vec::new(),
        }
    }

    /// Makes the decision durable.
    pub(super) fn save(&self, root: &Path) -> Result<()> {
        // Built where a kill leaves it among the garbage of this import, not beside the home's
        // files; no member has this name, see `is_own_name`.
        let home = Directory::open(root)?;
        let built = Path::new(&self.staging).join(JOURNAL);
        let mut file = home.create_file(&built, 0o600)?;
        serde_json::to_writer(&mut file, self)
            .map_err(io::Error::from)
            .and_then(|()| file.sync_all())
            .map_err(hermes_fs::Error::io("write", &root.join(&built)))?;
        home.rename_unsynced(&built, &home, Path::new(JOURNAL))?;
        Ok(home.sync()?)
    }

    fn load(root: &Path) -> Result<Option<Self>> {
        let path = root.join(JOURNAL);
        let Some(bytes) = hermes_fs::read_optional(&path, MAX_JOURNAL)? else {
            return Ok(None);
        };
        match Self::parse(&bytes) {
            Ok(journal) => Ok(Some(journal)),
            Err(detail) => Err(Error::BrokenJournal { path, detail }),
        }
    }

    fn parse(bytes: &[u8]) -> std::result::Result<Self, String> {
        let journal: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if journal.version != VERSION {
            return Err(format!("its version is not {VERSION}"));
        }
        if !journal.staging.starts_with(STAGING_PREFIX) || journal.staging.contains('/') {
            return Err("it names no staging directory".to_owned());
        }
        for path in journal.directories.iter().chain(&journal.moves) {
            hermes_fs::confined_relative(path).map_err(|error| error.to_string())?;
        }
        Ok(journal)
    }

    /// Does what has not been done yet, then forgets the decision.
    ///
    /// A file that cannot be moved is reported and the rest goes on; only a full disk stops the
    /// series, because then a later run can complete it.
    pub(super) fn roll_forward(&self, root: &Path) -> Result<Recovered> {
        let home = Directory::open(root)?;
        let mut recovered = Recovered {
            restored: 0,
            skipped: Vec::new(),
        };
        for directory in &self.directories {
            let made = home.create_directories(Path::new(directory), 0o700);
            record(made.map(drop), directory, &mut recovered.skipped)?;
        }
        let staging = home.directory(Path::new(&self.staging));
        // Gone once everything has been moved.
        let staging = match staging {
            Err(error) if error.is_not_found() => None,
            other => Some(other?),
        };
        for name in &self.moves {
            let moved = match &staging {
                Some(staging) => move_one(staging, &home, Path::new(name)),
                None => Ok(()),
            };
            if record(moved, name, &mut recovered.skipped)? {
                recovered.restored += 1;
            }
        }
        hermes_fs::sync_filesystem(root)?;
        home.remove_file(Path::new(JOURNAL))?;
        home.sync()?;
        hermes_fs::remove_tree(&root.join(&self.staging))?;
        Ok(recovered)
    }
}

/// Says whether a step succeeded; notes it down if not.
fn record(done: hermes_fs::Result<()>, name: &str, skipped: &mut Vec<SkippedFile>) -> Result<bool> {
    match done {
        Ok(()) => Ok(true),
        Err(error) if error.is_storage_full() => Err(error.into()),
        Err(error) => {
            skipped.push(SkippedFile::new(name, error.to_string()));
            Ok(false)
        }
    }
}

/// Moves one file into place; a source that is gone has been moved before. Both ends are reached from
/// the home's own descriptor: a directory that turns into a link meanwhile leads nowhere.
fn move_one(staging: &Directory, home: &Directory, relative: &Path) -> hermes_fs::Result<()> {
    if let Err(error) = staging.metadata(relative) {
        return if error.is_not_found() {
            Ok(())
        } else {
            Err(error)
        };
    }
    let parent = relative.parent().unwrap_or(Path::new(""));
    let parent = home.create_directories(parent, 0o700)?;
    let name = Path::new(relative.file_name().unwrap_or_default());
    if is_database(relative) {
        // Before the rename and on disk before it: an old log must never meet the new file.
        for sidecar in hermes_store::sidecars(name) {
            parent.remove_file(&sidecar)?;
        }
        parent.sync()?;
    }
    match staging.rename_unsynced(relative, &parent, name) {
        Err(error) if error.io_kind() == Some(io::ErrorKind::CrossesDevices) => {
            // A part of the home is a mount of its own.
            let (source, meta) = staging.open_file(relative)?;
            let mode = meta.permissions().mode() & 0o777;
            parent.replace_file(source, &staging.path().join(relative), name, mode)?;
            staging.remove_file(relative).map(drop)
        }
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_journal_that_is_not_ours_is_refused() {
        for text in [
            "",
            "{}",
            "{\"version\":2}",
            "{\"version\":1,\"staging\":\"../x\",\"directories\":[],\"moves\":[]}",
            "{\"version\":1,\"staging\":\".import.tmp-1/../x\",\"directories\":[],\"moves\":[]}",
            "{\"version\":1,\"staging\":\".import.tmp-1\",\"directories\":[],\"moves\":[\"../a\"]}",
            "{\"version\":1,\"staging\":\".import.tmp-1\",\"directories\":[],\"moves\":[7]}",
            "{\"version\":1,\"staging\":\".import.tmp-1\",\"moves\":[]}",
        ] {
            assert!(ImportJournal::parse(text.as_bytes()).is_err(), "{text}");
        }
    }
}
