//! Progress of backups and restores, and the files they skipped.

use std::path::PathBuf;

/// Progress of a backup or restore.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackupProgress {
    pub files_done: u64,
    /// Files in all, as counted at the start.
    pub files_total: u64,
    pub bytes_done: u64,
    pub bytes_total: u64,
}

/// A file that was skipped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkippedFile {
    /// Path below the root, or the name in the archive.
    pub path: PathBuf,
    pub reason: String,
}

impl SkippedFile {
    pub(crate) fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}
