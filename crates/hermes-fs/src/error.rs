//! The one error of the crate: what was attempted, on which path, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Result of a file operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A file operation that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not {action} {}: {}", path.display(), describe(source))]
    Io {
        /// Verb phrase that completes "could not … PATH".
        action: &'static str,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is too large: {size} bytes, at most {limit} are read", path.display())]
    TooLarge {
        path: PathBuf,
        /// Its size, or the least size known.
        size: u64,
        limit: u64,
    },
    #[error("{} is not UTF-8 text (first bad byte at offset {offset})", path.display())]
    NotUtf8 { path: PathBuf, offset: usize },
    #[error("{} already exists", path.display())]
    AlreadyExists { path: PathBuf },
    #[error("{what} is locked by another process ({}, waited {} s)", path.display(), waited.as_secs_f32())]
    LockTimeout {
        /// What the lock protects, in the user's words.
        what: String,
        path: PathBuf,
        waited: Duration,
    },
    #[error("{} is a symbolic link; refusing to go through it", path.display())]
    SymlinkInPath { path: PathBuf },
    #[error("{} is not a directory of this user alone", path.display())]
    NotOurs { path: PathBuf },
}

impl Error {
    /// Builds the closure for `map_err` on an `io::Result`.
    pub fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }

    /// Builds the error for `source` where something may be in the way that must not exist yet.
    pub(crate) fn create(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| match source.kind() {
            io::ErrorKind::AlreadyExists => Self::AlreadyExists { path },
            _ => Self::Io {
                action,
                path,
                source,
            },
        }
    }

    /// The path the error is about.
    pub fn path(&self) -> &Path {
        match self {
            Self::Io { path, .. }
            | Self::TooLarge { path, .. }
            | Self::NotUtf8 { path, .. }
            | Self::AlreadyExists { path }
            | Self::LockTimeout { path, .. }
            | Self::SymlinkInPath { path }
            | Self::NotOurs { path } => path,
        }
    }

    /// Kind of the underlying I/O error, if there is one.
    pub fn io_kind(&self) -> Option<io::ErrorKind> {
        match self {
            Self::Io { source, .. } => Some(source.kind()),
            _ => None,
        }
    }

    /// Whether the path does not exist.
    pub fn is_not_found(&self) -> bool {
        self.io_kind() == Some(io::ErrorKind::NotFound)
    }

    /// Whether the disk or quota is full: the machine's trouble, not the user's input.
    pub fn is_storage_full(&self) -> bool {
        matches!(
            self.io_kind(),
            Some(io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
        )
    }

    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        let fixed = match self {
            Self::Io { source, path, .. } => match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    let path = path.display();
                    return Some(format!(
                        "check the owner and mode of {path} and of its directory"
                    ));
                }
                io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
                    "free some space; the old content is untouched"
                }
                io::ErrorKind::ReadOnlyFilesystem => {
                    "remount it writable or set HERMES_HOME elsewhere"
                }
                io::ErrorKind::NotADirectory => "move the file that is in the way",
                _ => return None,
            },
            Self::TooLarge { path, .. } => {
                return Some(format!("check what wrote {}", path.display()));
            }
            Self::NotUtf8 { .. } => "save the file as UTF-8 and try again",
            Self::AlreadyExists { .. } => return None,
            Self::LockTimeout { .. } => "wait for the other command to finish, then try again",
            Self::SymlinkInPath { .. } => "replace the link by the directory it points to",
            Self::NotOurs { .. } => "remove it, or take the right to write in it from others",
        };
        Some(fixed.to_owned())
    }
}

/// Says in plain words what the common errors mean; `io::Error` adds "(os error 13)".
pub fn describe(source: &io::Error) -> String {
    let words = match source.kind() {
        io::ErrorKind::NotFound => "no such file or directory",
        io::ErrorKind::PermissionDenied => "permission denied",
        io::ErrorKind::StorageFull => "no space left on the disk",
        io::ErrorKind::QuotaExceeded => "the disk quota is used up",
        io::ErrorKind::ReadOnlyFilesystem => "the file system is read-only",
        io::ErrorKind::NotADirectory => "a part of the path is not a directory",
        io::ErrorKind::IsADirectory => "it is a directory",
        _ => {
            let text = source.to_string();
            return match text.split_once(" (os error") {
                Some((words, _)) => words.to_lowercase(),
                None => text,
            };
        }
    };
    words.to_owned()
}
