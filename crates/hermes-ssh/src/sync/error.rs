//! Why files could not be brought there or back.

use std::io;

use crate::diagnosis::{Cause, SSH_FAILED, cause_of, words};
use hermes_terminal::carried_files::Unlistable;
use hermes_terminal::remote::TransportError;

/// Exit codes of our scripts there.
pub(super) const NO_TAR: i32 = 97;
pub(super) const NOTHING_THERE: i32 = 98;
pub(super) const TOO_LARGE: i32 = 99;

/// Most that is fetched.
pub(super) const MAX_FETCHED: u64 = 2 * 1024 * 1024 * 1024;

/// A transfer that did not happen. Nothing here or there has been recorded as done.
#[derive(Debug)]
pub(crate) enum SyncError {
    Unlistable(Unlistable),
    File(hermes_fs::Error),
    Client(hermes_proc::Error),
    NoTar {
        action: &'static str,
    },
    Refused {
        action: &'static str,
        words: String,
        is_passing: bool,
    },
    /// The files there are more than [`MAX_FETCHED`].
    TooLarge,
    /// A name of the archive leads out of its directory.
    UnsafeName(String),
    /// The archive ended or made no sense.
    Broken(String),
}

/// The direction of a transfer, as part of a sentence.
pub(super) const SENT: &str = "brought to";
pub(super) const FETCHED: &str = "fetched from";

impl From<hermes_fs::Error> for SyncError {
    fn from(source: hermes_fs::Error) -> Self {
        Self::File(source)
    }
}

impl From<hermes_proc::Error> for SyncError {
    fn from(source: hermes_proc::Error) -> Self {
        Self::Client(source)
    }
}

/// What is read from the other side is the archive.
impl From<io::Error> for SyncError {
    fn from(source: io::Error) -> Self {
        Self::Broken(source.to_string())
    }
}

impl SyncError {
    /// What a client meant that ended like this.
    pub(super) fn of_client(action: &'static str, code: Option<i32>, stderr: &[u8]) -> Self {
        let stderr = String::from_utf8_lossy(stderr);
        if code == Some(NO_TAR) {
            return Self::NoTar { action };
        }
        let said = words(&stderr);
        let is_passing = match code {
            Some(SSH_FAILED) => matches!(cause_of(&stderr), Cause::Lost | Cause::Unreachable),
            // Files may come and go there while they are read; a host that does not take them stays
            // as it is.
            Some(_) => action == FETCHED,
            None => true,
        };
        Self::Refused {
            action,
            words: match (said.is_empty(), code) {
                (false, _) => said,
                (true, Some(SSH_FAILED)) => "the connection was lost".to_owned(),
                (true, Some(code)) => format!("exit code {code}"),
                (true, None) => "the client was killed".to_owned(),
            },
            is_passing,
        }
    }

    /// Whether the same may work in a moment.
    pub(super) fn is_passing(&self) -> bool {
        match self {
            Self::Client(source) => matches!(source, hermes_proc::Error::Deadline { .. }),
            Self::Refused { is_passing, .. } => *is_passing,
            other => matches!(other, Self::Broken(_)),
        }
    }

    pub(super) fn message(&self, host: &str) -> String {
        match self {
            Self::Unlistable(source) => format!("could not list the files for {host}: {source}"),
            Self::File(source) => format!("files for {host}: {source}"),
            Self::Client(source) => format!("files for {host}: {source}"),
            Self::NoTar { action } => {
                format!("files cannot be {action} {host}: tar is not installed")
            }
            Self::Refused { action, words, .. } => {
                format!("files cannot be {action} {host}: {words}")
            }
            Self::TooLarge => {
                format!("the files on {host} exceed {MAX_FETCHED} bytes; nothing was fetched")
            }
            Self::UnsafeName(name) => format!(
                "the archive from {host} contains '{name}', which points outside its directory; \
                 nothing was fetched"
            ),
            Self::Broken(detail) => {
                format!("could not read the archive from {host}: {detail}; nothing was fetched")
            }
        }
    }

    fn hint(&self, host: &str) -> Option<String> {
        Some(match self {
            Self::NoTar { .. } => format!("install the package tar on {host}"),
            Self::Refused { .. } => format!(
                "check ~/.hermes on {host}: its owner, and whether the disk is full or read-only"
            ),
            Self::TooLarge => {
                format!("remove unneeded files from ~/.hermes/skills and ~/.hermes/cache on {host}")
            }
            Self::UnsafeName(_) | Self::Broken(_) => {
                format!("check which `tar` is installed on {host}; its output is not trusted")
            }
            Self::File(source) | Self::Unlistable(Unlistable::Directory(source)) => {
                return source.hint();
            }
            Self::Client(source) => return source.hint(),
            Self::Unlistable(Unlistable::TooMany { root }) => {
                format!("move files that are not skills out of {}", root.display())
            }
        })
    }

    /// The error of a transfer with this host.
    pub(crate) fn into_transport(self, host: &str) -> TransportError {
        TransportError {
            message: self.message(host),
            hint: self.hint(host),
            is_missing_part: match &self {
                Self::Client(_) | Self::NoTar { .. } | Self::Refused { .. } => true,
                Self::File(source) => source.is_storage_full(),
                Self::Unlistable(_) | Self::TooLarge | Self::UnsafeName(_) | Self::Broken(_) => {
                    false
                }
            },
        }
    }
}
