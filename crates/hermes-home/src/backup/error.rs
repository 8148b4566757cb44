//! Why a backup, snapshot or restore did not happen.

use std::io;
use std::path::{Path, PathBuf};

/// Result of a backup or restore.
pub type Result<T> = std::result::Result<T, Error>;

/// A backup or restore that did not happen at all. What happened in part is in the reports.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not write the backup {}: {}", path.display(), hermes_fs::describe(source))]
    Write { path: PathBuf, source: io::Error },
    #[error("{} is not a valid zip file: {detail}", path.display())]
    NotAZip { path: PathBuf, detail: String },
    #[error(
        "{} does not look like a Hermes backup: it contains no config.yaml, .env or state.db",
        path.display()
    )]
    NotABackup { path: PathBuf },
    #[error("the backup {} has {found} members, at most {limit} are accepted", path.display())]
    TooManyMembers {
        path: PathBuf,
        found: u64,
        limit: u64,
    },
    #[error("the backup {} unpacks to more than {limit} bytes", path.display())]
    TooLarge { path: PathBuf, limit: u64 },
    #[error(
        "restoring {} needs {needed} bytes, {} has room for {available}",
        path.display(),
        root.display()
    )]
    NotEnoughSpace {
        path: PathBuf,
        root: PathBuf,
        needed: u64,
        available: u64,
    },
    #[error("the journal of an interrupted import, {}, cannot be read: {detail}", path.display())]
    BrokenJournal { path: PathBuf, detail: String },
    #[error("'{label}' cannot be a label: use lower-case letters, digits, - and _, at most 64")]
    BadLabel { label: String },
    #[error("{} contains nothing to snapshot", home.display())]
    NothingToSnapshot { home: PathBuf },
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
                Some("check the free space, or choose another path with -o".to_owned())
            }
            Self::NotAZip { .. } | Self::NotABackup { .. } => {
                Some("pass a file written by `hermes backup`".to_owned())
            }
            Self::TooManyMembers { .. } | Self::TooLarge { .. } => {
                Some("nothing was changed; check where the file comes from".to_owned())
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
