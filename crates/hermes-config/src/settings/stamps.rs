//! What tells one state of the files of settings from another without reading them.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// When a file was changed, its size and its inode.
type Stamp = (i64, i64, u64, u64);

/// The state of all files that settings are read from; `None` for one that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FileStamps(Vec<Option<Stamp>>);

impl FileStamps {
    /// As these files are now.
    pub(super) fn of(files: &[PathBuf]) -> Self {
        Self(files.iter().map(|path| stamp(path)).collect())
    }
}

fn stamp(path: &Path) -> Option<Stamp> {
    let meta = hermes_fs::metadata(path).ok()?;
    Some((meta.mtime(), meta.mtime_nsec(), meta.size(), meta.ino()))
}
