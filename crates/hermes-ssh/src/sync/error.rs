//! Why files could not be brought there or back.

use crate::diagnosis::{Cause, SSH_FAILED, cause_of, words};
use hermes_terminal::carried_files::Unlistable;
use hermes_terminal::remote::TransportError;

/// Exit codes of our scripts there.
pub(super) const NO_TAR: i32 = 97;
pub(super) const NOTHING_THERE: i32 = 98;
pub(super) const TOO_LARGE: i32 = 99;

/// A transfer that did not happen. Nothing here or there has been recorded as done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SyncError {
    #[error("files for {host} cannot be listed: {source}")]
    Unlistable { host: String, source: Unlistable },
    #[error("files for {host}: {source}")]
    File {
        host: String,
        source: hermes_fs::Error,
    },
    #[error("files for {host}: {source}")]
    Client {
        host: String,
        source: hermes_proc::Error,
    },
    #[error("files cannot be {action} {host}: there is no tar")]
    NoTar { host: String, action: &'static str },
    #[error("files cannot be {action} {host}: {words}")]
    Refused {
        host: String,
        action: &'static str,
        words: String,
        is_passing: bool,
    },
    #[error("the files at {host} are more than {limit} bytes; nothing was fetched")]
    TooLarge { host: String, limit: u64 },
    #[error(
        "the archive from {host} names '{name}', which leads out of its directory; nothing was fetched"
    )]
    UnsafeName { host: String, name: String },
    #[error("the archive from {host} cannot be read: {detail}; nothing was fetched")]
    Broken { host: String, detail: String },
}

/// The direction of a transfer, as part of a sentence.
pub(super) const SENT: &str = "brought to";
pub(super) const FETCHED: &str = "fetched from";

impl SyncError {
    /// What a client meant that ended like this.
    pub(super) fn of_client(
        host: &str,
        action: &'static str,
        code: Option<i32>,
        stderr: &[u8],
    ) -> Self {
        let stderr = String::from_utf8_lossy(stderr);
        let host = host.to_owned();
        if code == Some(NO_TAR) {
            return Self::NoTar { host, action };
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
            host,
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
            Self::Client { source, .. } => matches!(source, hermes_proc::Error::Deadline { .. }),
            Self::Refused { is_passing, .. } => *is_passing,
            Self::Broken { .. } => true,
            Self::Unlistable { .. }
            | Self::File { .. }
            | Self::NoTar { .. }
            | Self::TooLarge { .. }
            | Self::UnsafeName { .. } => false,
        }
    }

    fn hint(&self) -> Option<String> {
        match self {
            Self::NoTar { host, .. } => Some(format!("install the package tar at {host}")),
            Self::Refused { host, .. } => Some(format!(
                "check ~/.hermes at {host}: its owner, and whether the disk is full or read-only"
            )),
            Self::TooLarge { host, .. } => Some(format!(
                "remove what is not needed from ~/.hermes/skills and ~/.hermes/cache at {host}"
            )),
            Self::UnsafeName { host, .. } | Self::Broken { host, .. } => Some(format!(
                "look at what `tar` is at {host}; files there are not trusted"
            )),
            Self::File { source, .. } => source.hint(),
            Self::Client { source, .. } => source.hint(),
            Self::Unlistable {
                source: Unlistable::Directory(error),
                ..
            } => error.hint(),
            Self::Unlistable {
                source: Unlistable::TooMany { root },
                ..
            } => Some(format!("move what is no skill out of {}", root.display())),
        }
    }

    fn is_missing_part(&self) -> bool {
        match self {
            Self::Client { .. } | Self::NoTar { .. } | Self::Refused { .. } => true,
            Self::File { source, .. } => source.is_storage_full(),
            Self::Unlistable { .. }
            | Self::TooLarge { .. }
            | Self::UnsafeName { .. }
            | Self::Broken { .. } => false,
        }
    }
}

impl From<SyncError> for TransportError {
    fn from(error: SyncError) -> Self {
        Self {
            message: error.to_string(),
            hint: error.hint(),
            is_missing_part: error.is_missing_part(),
        }
    }
}
