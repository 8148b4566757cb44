//! Why a command did not run on a remote host, or why nobody knows how it ended.

use std::time::Duration;

use super::transport::TransportError;

/// A command without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The host cannot be used; nothing was run.
    #[error(transparent)]
    Unusable(#[from] TransportError),
    /// The host is not there any more; nothing was run.
    #[error("{host} no longer exists")]
    Gone { host: String },
    #[error("interrupted before the command was started")]
    Interrupted,
    /// The connection ended before the command was seen to start. It is not tried again, because it
    /// may have been on its way.
    #[error("lost the connection to {host} before the command was confirmed to have started")]
    LostBeforeStart { host: String },
    /// The connection ended while the command ran.
    #[error(
        "lost the connection to {host} while the command was running; it was not run again{rest}"
    )]
    LostWhileRunning { host: String, rest: String },
    /// No process could be started there for the command; nothing was run.
    #[error("no process could be started in {host} (status {status})")]
    NoProcess { host: String, status: i32 },
    #[error("stopped after {} s", limit.as_secs())]
    TimedOut { limit: Duration },
}

impl RemoteError {
    /// The message with the next step, where there is one.
    pub fn with_hint(&self) -> String {
        match self.hint() {
            Some(hint) => format!("{self} ({hint})"),
            None => self.to_string(),
        }
    }

    /// What to do about it, where we know.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unusable(error) => error.hint.as_deref(),
            Self::Gone { .. } | Self::Interrupted | Self::TimedOut { .. } => None,
            Self::NoProcess { .. } => {
                Some("its process limit may have been reached; stop some processes")
            }
            Self::LostBeforeStart { .. } | Self::LostWhileRunning { .. } => {
                Some("check what it has already done before you run it again")
            }
        }
    }
}
