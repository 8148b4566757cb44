//! Why a profile could not be exported or imported.

use std::io;
use std::path::{Path, PathBuf};

/// Result of an export or import.
pub type Result<T> = std::result::Result<T, Error>;

/// An export or import that did not happen. Nothing is left behind.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file is no gzip tar, is cut short, or fails its checksum.
    #[error("not a valid profile archive: {} ({detail})", path.display())]
    NotAnArchive {
        /// The file.
        path: PathBuf,
        /// What was wrong with it.
        detail: String,
    },
    /// A member would land outside the profile.
    #[error("Unsafe archive member path: {member}")]
    UnsafePath {
        /// Name of the member, control characters escaped.
        member: String,
    },
    /// A member is neither a file, nor a directory, nor a link that stays inside.
    #[error("Unsupported archive member type: {member} ({kind})")]
    UnsupportedType {
        /// Name of the member.
        member: String,
        /// What it is.
        kind: String,
    },
    /// Two members claim one path; which of them counts would depend on the reader.
    #[error("the archive holds {member} twice, or as a file and a directory")]
    Duplicate {
        /// Name of the member.
        member: String,
    },
    /// A profile archive has one directory at its top, named after the profile.
    #[error("the archive must hold exactly one top-level directory, found {found}")]
    NotOneRoot {
        /// What is there instead.
        found: String,
    },
    /// More members than accepted.
    #[error("the archive has more than {limit} members")]
    TooManyMembers {
        /// The limit.
        limit: u64,
    },
    /// More bytes than accepted, counted while unpacking.
    #[error("the archive unpacks to more than {limit} bytes")]
    TooLarge {
        /// The limit.
        limit: u64,
    },
    /// A profile of this name exists.
    #[error("{} already exists", path.display())]
    NameTaken {
        /// Its directory.
        path: PathBuf,
    },
    /// The archive could not be written, for want of space most likely.
    #[error("could not write {}: {}", path.display(), hermes_fs::describe(source))]
    Write {
        /// The archive.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// A file operation failed.
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
        match self {
            Self::NotAnArchive { .. } => {
                Some("pass a file written by `hermes profile export`".to_owned())
            }
            Self::UnsafePath { .. } | Self::UnsupportedType { .. } | Self::Duplicate { .. } => {
                Some("nothing was imported; ask where the archive comes from".to_owned())
            }
            Self::NotOneRoot { .. } => {
                Some("pack the profile's directory, not its content".to_owned())
            }
            Self::TooManyMembers { .. } | Self::TooLarge { .. } => {
                Some("nothing was imported; remove what does not belong to the profile".to_owned())
            }
            Self::NameTaken { .. } => Some("choose another name with --name".to_owned()),
            Self::Write { .. } => Some("check the space left and the output path".to_owned()),
            Self::File(error) => error.hint(),
        }
    }
}
