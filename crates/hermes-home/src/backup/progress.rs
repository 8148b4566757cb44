//! What backups and restores tell while they run and afterwards.

use std::path::PathBuf;

/// How far a long operation has come.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Progress {
    /// Files dealt with.
    pub files_done: u64,
    /// Files in all, as counted at the start.
    pub files_total: u64,
    /// Bytes dealt with.
    pub bytes_done: u64,
    /// Bytes in all, as counted at the start.
    pub bytes_total: u64,
}

/// Something that was left behind, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failed {
    /// Path below the root, or the name in the archive.
    pub path: PathBuf,
    /// Why.
    pub reason: String,
}

impl Failed {
    pub(super) fn new(path: impl Into<PathBuf>, reason: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            reason: reason.into(),
        }
    }
}
