//! Why a backup, snapshot or restore did not happen.

use std::io;
use std::path::{Path, PathBuf};

/// Result of a backup or restore.
pub type Result<T> = std::result::Result<T, Error>;

/// A backup or restore that did not happen at all. What happened in part is in the reports.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The archive could not be written.
    #[error("could not write the backup {}: {}", path.display(), hermes_fs::describe(source))]
    Write {
        /// The archive.
        path: PathBuf,
        /// What went wrong.
        source: io::Error,
    },
    /// The file is no zip, or its directory is damaged.
    #[error("{} is not a valid zip file: {detail}", path.display())]
    NotAZip {
        /// The file.
        path: PathBuf,
        /// What was found.
        detail: String,
    },
    /// A zip, but not one of a home.
    #[error(
        "{} does not look like a Hermes backup: it holds no config.yaml, .env or state.db",
        path.display()
    )]
    NotABackup {
        /// The file.
        path: PathBuf,
    },
    /// More members than accepted.
    #[error("the backup {} has {found} members, at most {limit} are accepted", path.display())]
    TooManyMembers {
        /// The file.
        path: PathBuf,
        /// How many it has.
        found: u64,
        /// The limit.
        limit: u64,
    },
    /// More bytes than accepted, counted while unpacking.
    #[error("the backup {} unpacks to more than {limit} bytes", path.display())]
    TooLarge {
        /// The file.
        path: PathBuf,
        /// The limit.
        limit: u64,
    },
    /// The disk cannot hold what the backup says it holds.
    #[error(
        "restoring {} needs {needed} bytes, {} has {available} left",
        path.display(),
        root.display()
    )]
    NotEnoughSpace {
        /// The backup.
        path: PathBuf,
        /// Where it should go.
        root: PathBuf,
        /// Bytes of its content.
        needed: u64,
        /// Bytes we may use.
        available: u64,
    },
    /// An interrupted import left a journal that cannot be read.
    #[error("the journal of an interrupted import, {}, cannot be read: {detail}", path.display())]
    BrokenJournal {
        /// The journal.
        path: PathBuf,
        /// What is wrong with it.
        detail: String,
    },
    /// A label with characters that do not belong into a directory name.
    #[error("'{label}' cannot be a label: use lower-case letters, digits, - and _, at most 64")]
    BadLabel {
        /// What was given.
        label: String,
    },
    /// The home has none of the files a snapshot keeps.
    #[error("{} holds nothing to take a snapshot of", home.display())]
    NothingToSnapshot {
        /// The home.
        home: PathBuf,
    },
    /// A file operation failed.
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl Error {
    /// Builds the closure for `map_err` on writes to the archive.
    pub(super) fn write<E: Into<io::Error>>(path: &Path) -> impl FnOnce(E) -> Self + use<E> {
        let path = path.to_owned();
        move |source| Self::Write {
            path,
            source: source.into(),
        }
    }

    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Write { .. } => {
                Some("check the space left, or choose another place with -o".to_owned())
            }
            Self::NotAZip { .. } | Self::NotABackup { .. } => {
                Some("pass a file written by `hermes backup`".to_owned())
            }
            Self::TooManyMembers { .. } | Self::TooLarge { .. } => {
                Some("nothing was changed; ask where the file comes from".to_owned())
            }
            Self::NotEnoughSpace { .. } => Some("free some space; nothing was changed".to_owned()),
            Self::BrokenJournal { path, .. } => Some(format!(
                "import the backup again after removing {}",
                path.display()
            )),
            Self::BadLabel { .. } | Self::NothingToSnapshot { .. } => None,
            Self::File(error) => error.hint(),
        }
    }
}
