//! What can go wrong with snapshots.

use std::path::PathBuf;

use hermes_proc::GitError;

/// Why a snapshot was not taken, shown or restored.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("snapshots of files need git, which is not installed")]
    NoGit,
    #[error("the store of snapshots: {0}")]
    Git(#[from] GitError),
    #[error(transparent)]
    Files(#[from] hermes_fs::Error),
    #[error("{} is not snapshotted: {why}", directory.display())]
    Refused {
        directory: PathBuf,
        /// What is wrong with the directory.
        why: String,
    },
    #[error("{} has the setting '{setting}', which a store of snapshots does not need", file.display())]
    ForeignSetting { file: PathBuf, setting: String },
    #[error("there is no snapshot '{0}' of this directory")]
    NoSnapshot(String),
    #[error("{} is outside of {}", path.display(), directory.display())]
    Outside { path: PathBuf, directory: PathBuf },
    #[error("{path} is not in the snapshot {snapshot}")]
    NotInSnapshot { path: String, snapshot: String },
}

impl Error {
    /// What the person can do.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoGit => Some("install git, or set checkpoints.enabled to false".to_owned()),
            Self::ForeignSetting { .. } => Some(
                "remove that setting, or all snapshots with `hermes checkpoints clear`".to_owned(),
            ),
            Self::NoSnapshot(_) => Some("/rollback lists the snapshots".to_owned()),
            Self::Files(error) => error.hint(),
            Self::Git(_) | Self::Refused { .. } | Self::Outside { .. } => None,
            Self::NotInSnapshot { .. } => Some("/rollback diff N lists the files".to_owned()),
        }
    }
}
