//! Why a database could not be used, in terms a user can act on. SQLite's result codes stop here.

use std::path::{Path, PathBuf};

use rusqlite::ErrorCode;

/// Result of a database operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A database operation that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the database {} is damaged: {detail}", path.display())]
    Corrupt { path: PathBuf, detail: String },
    #[error("could not {action} the database {}: another process keeps it locked", path.display())]
    Busy {
        /// Verb that completes "could not … the database".
        action: &'static str,
        path: PathBuf,
    },
    #[error("{} is not an SQLite database", path.display())]
    NotADatabase { path: PathBuf },
    /// The operating system refused: permission, a full disk, a read-only file system.
    #[error("could not {action} the database {}: {}", path.display(), source)]
    Io {
        action: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    /// A statement failed for a reason of its own (a constraint, a missing table).
    #[error("could not {action} the database {}: {}", path.display(), source)]
    Statement {
        action: &'static str,
        path: PathBuf,
        source: rusqlite::Error,
    },
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
}

impl Error {
    /// Builds the closure for `map_err` on a result of `rusqlite`.
    pub fn sqlite(action: &'static str, path: &Path) -> impl FnOnce(rusqlite::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.sqlite_error_code() {
            Some(ErrorCode::DatabaseCorrupt) => Self::Corrupt {
                path,
                detail: source.to_string(),
            },
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                Self::Busy { action, path }
            }
            Some(ErrorCode::NotADatabase) => Self::NotADatabase { path },
            Some(
                ErrorCode::PermissionDenied
                | ErrorCode::ReadOnly
                | ErrorCode::SystemIoFailure
                | ErrorCode::DiskFull
                | ErrorCode::CannotOpen
                | ErrorCode::FileLockingProtocolFailed,
            ) => Self::Io {
                action,
                path,
                source,
            },
            _ => Self::Statement {
                action,
                path,
                source,
            },
        }
    }

    /// The file the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Corrupt { path, .. }
            | Self::Busy { path, .. }
            | Self::NotADatabase { path }
            | Self::Io { path, .. }
            | Self::Statement { path, .. } => path,
            Self::File(error) => error.path(),
        }
    }

    /// Whether the database does not exist.
    pub fn is_not_found(&self) -> bool {
        matches!(self, Self::File(error) if error.is_not_found())
    }

    /// Whether trying again later may help.
    pub fn is_retryable(&self) -> bool {
        matches!(self, Self::Busy { .. })
    }

    /// Whether the disk is full, or what the user may use of it.
    pub fn is_storage_full(&self) -> bool {
        match self {
            Self::Io { source, .. } => is_full(source),
            Self::File(error) => error.is_storage_full(),
            Self::Corrupt { .. }
            | Self::Busy { .. }
            | Self::NotADatabase { .. }
            | Self::Statement { .. } => false,
        }
    }

    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Corrupt { .. } => Some(
                "keep the damaged file aside and restore it from a backup or snapshot".to_owned(),
            ),
            Self::Busy { .. } => {
                Some("wait for the other process or stop the gateway, then try again".to_owned())
            }
            Self::NotADatabase { path } => Some(format!(
                "move {} away; restore it from a backup if it held data",
                path.display()
            )),
            Self::Io { source, .. } if is_full(source) => {
                Some("free some space and try again".to_owned())
            }
            Self::Io { path, .. } => Some(format!(
                "check the owner and mode of {} and of its directory",
                path.display()
            )),
            Self::Statement { .. } => None,
            Self::File(error) => error.hint(),
        }
    }
}

/// Whether there was no room. The shared index of the log is the first thing a full disk cannot
/// hold, and SQLite has a code of its own for that.
fn is_full(source: &rusqlite::Error) -> bool {
    let extended = source.sqlite_error().map(|error| error.extended_code);
    source.sqlite_error_code() == Some(ErrorCode::DiskFull)
        || extended == Some(rusqlite::ffi::SQLITE_IOERR_SHMSIZE)
}
