//! Why a command did not run elsewhere, or why nobody knows how it ended.

use std::time::Duration;

use super::transport::TransportError;

/// A command without a result.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RemoteError {
    /// The place cannot be used; nothing was run.
    #[error(transparent)]
    Unusable(#[from] TransportError),
    /// The place is not there any more; nothing was run.
    #[error("{place} is not there any more")]
    Gone {
        /// The place in words.
        place: String,
    },
    /// Someone raised a flag before anything was run.
    #[error("interrupted before the command was started")]
    Interrupted,
    /// The connection ended before the command was seen to start. It is not tried again, because it
    /// may have been on its way.
    #[error("lost the connection to {place} before the command was seen to start")]
    LostBeforeStart {
        /// The place in words.
        place: String,
    },
    /// The connection ended while the command ran.
    #[error(
        "lost the connection to {place} while the command was running; it was not run again{rest}"
    )]
    LostWhileRunning {
        /// The place in words.
        place: String,
        /// What is known about its processes.
        rest: String,
    },
    /// No process could be started there for the command; nothing was run.
    #[error("no process could be started in {place} (status {status})")]
    NoProcess {
        /// The place in words.
        place: String,
        /// What the shell there made of it.
        status: i32,
    },
    /// It did not end in time and was stopped.
    #[error("stopped after {} s", limit.as_secs())]
    TimedOut {
        /// The limit.
        limit: Duration,
    },
}

impl RemoteError {
    /// What to do about it, where we know.
    pub fn hint(&self) -> Option<&str> {
        match self {
            Self::Unusable(error) => error.hint.as_deref(),
            Self::Gone { .. } | Self::Interrupted | Self::TimedOut { .. } => None,
            Self::NoProcess { .. } => {
                Some("the limit of processes there may be reached; end some of them")
            }
            Self::LostBeforeStart { .. } | Self::LostWhileRunning { .. } => {
                Some("look at what it has done so far before you run it again")
            }
        }
    }
}
