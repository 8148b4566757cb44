//! Why a profile could not be exported or imported.

use std::io;
use std::path::{Path, PathBuf};

/// Result of an export or import.
pub type Result<T> = std::result::Result<T, Error>;

/// An export or import that did not happen. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("not a valid profile archive: {} ({detail})", path.display())]
    NotAnArchive { path: PathBuf, detail: String },
    #[error("Unsafe archive member path: {member}")]
    UnsafePath {
        /// Name of the member, control characters escaped.
        member: String,
    },
    #[error("Unsupported archive member type: {member} ({kind})")]
    UnsupportedType { member: String, kind: String },
    /// Two members claim one path; which of them counts would depend on the reader.
    #[error("the archive contains {member} twice, or as both a file and a directory")]
    Duplicate { member: String },
    #[error("the archive must contain exactly one top-level directory, found {found}")]
    NotOneRoot { found: String },
    #[error("the archive has more than {limit} members")]
    TooManyMembers { limit: u64 },
    #[error("the archive unpacks to more than {limit} bytes")]
    TooLarge { limit: u64 },
    #[error("the archive unpacks to more than the {room} bytes that {} has room for", path.display())]
    NoRoom { path: PathBuf, room: u64 },
    #[error("{} already exists", path.display())]
    NameTaken { path: PathBuf },
    #[error("could not write {}: {}", path.display(), hermes_fs::describe(source))]
    Write { path: PathBuf, source: io::Error },
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl Error {
    /// Builds the closure for `map_err` on writes to the archive.
    pub(super) fn write(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Write { path, source }
    }

    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        let advice = match self {
            Self::NotAnArchive { .. } => "pass a file written by `hermes profile export`",
            Self::UnsafePath { .. } | Self::UnsupportedType { .. } | Self::Duplicate { .. } => {
                "nothing was imported; check where the archive comes from"
            }
            Self::NotOneRoot { .. } => "archive the profile's directory, not its contents",
            Self::TooManyMembers { .. } | Self::TooLarge { .. } => {
                "nothing was imported; remove what does not belong to the profile"
            }
            Self::NoRoom { .. } => "nothing was imported; free some space",
            Self::NameTaken { .. } => "choose another name with --name",
            Self::Write { .. } => "check the free space and the output path",
            Self::File(error) => return error.hint(),
        };
        Some(advice.to_owned())
    }
}
