//! The files of one log, newest first: the current one and what was rotated away.

use std::fs::{File, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use hermes_fs::{FileLock, LockOptions, Result};

use super::name::LogName;
use crate::rotating::rotated;

/// How long to wait for a rotation to finish; then the files are opened all the same.
const ROTATION_TIMEOUT: Duration = Duration::from_millis(200);

/// Which file it is, whatever its name. The time of birth tells apart a file that got the inode of
/// one just deleted, on file systems that record it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
    born: Option<SystemTime>,
}

impl FileId {
    pub(super) fn of(meta: &Metadata) -> Self {
        Self {
            device: meta.dev(),
            inode: meta.ino(),
            born: meta.created().ok(),
        }
    }
}

/// One opened file of a chain.
#[derive(Debug)]
pub(super) struct ChainFile {
    pub(super) file: File,
    pub(super) path: PathBuf,
    pub(super) id: FileId,
}

/// Opens all files of a log, newest first, each once. Empty if the log does not exist.
///
/// Renaming is kept out meanwhile by the rotation's own lock, if there is one and it can be had:
/// writers that find it taken write on, so nobody waits for us.
pub(super) fn open_all(dir: &Path, name: &LogName) -> Result<Vec<ChainFile>> {
    let path = name.path(dir);
    let _lock = rotation_lock(&path);
    let mut files: Vec<ChainFile> = Vec::new();
    // Newest first: what moves up the chain while we walk is met twice, not missed.
    add(&mut files, path.clone())?;
    for older in older_files(&path, name)? {
        add(&mut files, older)?;
    }
    Ok(files)
}

fn add(files: &mut Vec<ChainFile>, path: PathBuf) -> Result<()> {
    let file = match hermes_fs::open(&path) {
        Ok(file) => file,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error),
    };
    let meta = file
        .metadata()
        .map_err(hermes_fs::Error::io("look at", &path))?;
    let id = FileId::of(&meta);
    if meta.is_file() && files.iter().all(|known| known.id != id) {
        files.push(ChainFile { file, path, id });
    }
    Ok(())
}

fn rotation_lock(path: &Path) -> Option<FileLock> {
    let lock_path = path.with_added_extension("lock");
    // A reader creates nothing: without a lock file nothing was ever rotated.
    if !hermes_fs::exists_no_follow(&lock_path) {
        return None;
    }
    let options = LockOptions {
        timeout: ROTATION_TIMEOUT,
        ..LockOptions::new("the log rotation")
    };
    FileLock::acquire(&lock_path, &options).ok()
}

/// What was rotated away, newest first.
fn older_files(path: &Path, name: &LogName) -> Result<Vec<PathBuf>> {
    let Some(dir) = path.parent() else {
        return Ok(Vec::new());
    };
    let entries = match hermes_fs::read_dir(dir) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let names = entries
        .iter()
        .map(|entry| entry.name.to_string_lossy().into_owned());
    if let LogName::GatewayProfile(_) = name {
        // `@<time>.s`, or `.u` after a crash; the times sort as text.
        let archived = |name: &String| {
            name.starts_with('@')
                && Path::new(name)
                    .extension()
                    .is_some_and(|extension| extension == "s" || extension == "u")
        };
        let mut archives: Vec<String> = names.filter(archived).collect();
        archives.sort_unstable_by(|a, b| b.cmp(a));
        return Ok(archives.iter().map(|name| dir.join(name)).collect());
    }
    let prefix = format!(
        "{}.",
        path.file_name().unwrap_or_default().to_string_lossy()
    );
    let mut numbers: Vec<u32> = names
        .filter_map(|name| name.strip_prefix(&prefix)?.parse().ok())
        .collect();
    numbers.sort_unstable();
    Ok(numbers
        .into_iter()
        .map(|number| rotated(path, number))
        .collect())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::disallowed_methods, reason = "tests access files directly")]

    use pretty_assertions::assert_eq;

    use super::*;

    fn names(dir: &Path, name: &LogName) -> Vec<String> {
        open_all(dir, name)
            .unwrap()
            .iter()
            .map(|file| {
                file.path
                    .file_name()
                    .unwrap()
                    .to_string_lossy()
                    .into_owned()
            })
            .collect()
    }

    #[test]
    fn numbers_sort_as_numbers_and_other_files_are_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        for name in [
            "agent.log",
            "agent.log.1",
            "agent.log.2",
            "agent.log.10",
            "agent.log.lock",
            "agent.log.old",
            "agent.log2",
        ] {
            std::fs::write(dir.path().join(name), "").unwrap();
        }
        assert_eq!(
            names(dir.path(), &LogName::Agent),
            ["agent.log", "agent.log.1", "agent.log.2", "agent.log.10"]
        );
        assert_eq!(names(dir.path(), &LogName::Gui), Vec::<String>::new());
    }

    #[test]
    fn archives_of_a_supervised_gateway_are_read_newest_first() {
        let dir = tempfile::tempdir().unwrap();
        let logs = dir.path().join("gateways/coder");
        std::fs::create_dir_all(&logs).unwrap();
        for name in [
            "current", "@4000a.s", "@4000c.u", "@4000b.s", "lock", "state",
        ] {
            std::fs::write(logs.join(name), "").unwrap();
        }
        assert_eq!(
            names(dir.path(), &LogName::GatewayProfile("coder".to_owned())),
            ["current", "@4000c.u", "@4000b.s", "@4000a.s"]
        );
    }

    #[test]
    fn one_file_under_two_names_is_read_once() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("agent.log"), "").unwrap();
        std::fs::hard_link(dir.path().join("agent.log"), dir.path().join("agent.log.1")).unwrap();
        assert_eq!(names(dir.path(), &LogName::Agent), ["agent.log"]);
    }
}
