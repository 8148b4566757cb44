//! What can go wrong with a server.

use std::path::PathBuf;
use std::time::Duration;

/// Why a server cannot be used or did not answer. Messages name the server where they are shown, so
/// they do not here.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    #[error("the command '{command}' was not found{}", place(path.as_deref()))]
    CommandNotFound {
        command: String,
        path: Option<String>,
    },
    #[error("{reason}")]
    AddonMissing {
        reason: String,
        hint: Option<String>,
    },
    #[error("the package {package} is known as malware ({}); it was not started", advisories.join(", "))]
    Malware {
        package: String,
        advisories: Vec<String>,
    },
    #[error("it could not be started: {0}")]
    NotStarted(String),
    #[error("it ended before it answered ({status}){}", said(said_last))]
    Ended { status: String, said_last: String },
    #[error("it does not speak MCP: {0}")]
    NotMcp(String),
    #[error("it did not answer within {} s", .0.as_secs_f64().ceil())]
    NoAnswer(Duration),
    #[error("the connection ended while the call ran; whether it had an effect is not known")]
    LostDuringCall,
    #[error("it cannot be reached: {0}")]
    Unreachable(String),
    #[error("it asks for a login{}", because(reason))]
    NeedsLogin { reason: String },
    #[error("it answered with an error: {0}")]
    Refused(String),
    #[error("it has ended the session")]
    SessionExpired,
    #[error("it failed {failures} times in a row and is left alone for another {} s; last: {last}", left.as_secs().max(1))]
    Resting {
        failures: u32,
        left: Duration,
        last: String,
    },
    #[error("the call was interrupted")]
    Interrupted,
    #[error("the file {} cannot be used: {reason}", path.display())]
    Unusable { path: PathBuf, reason: String },
    #[error("Hermes is ending")]
    Closing,
}

impl Error {
    /// Whether trying again soon may help.
    pub(crate) fn is_passing(&self) -> bool {
        matches!(
            self,
            Self::NotStarted(_)
                | Self::Ended { .. }
                | Self::NoAnswer(_)
                | Self::Unreachable(_)
                | Self::LostDuringCall
                | Self::SessionExpired
        )
    }

    /// Whether the server is to blame, so that the breaker counts it.
    pub(crate) fn counts(&self) -> bool {
        !matches!(
            self,
            Self::Interrupted | Self::Closing | Self::Resting { .. } | Self::Refused(_)
        )
    }

    /// Whether finding it out again at the next start would cost time.
    pub(crate) fn is_slow_to_find(&self) -> bool {
        !matches!(
            self,
            Self::CommandNotFound { .. }
                | Self::Unusable { .. }
                | Self::Closing
                | Self::Interrupted
        )
    }

    /// What to do about it.
    pub fn hint(&self, server: &str) -> Option<String> {
        match self {
            Self::CommandNotFound { command, .. } => Some(match command.as_str() {
                "npx" | "npm" | "node" => "install Node.js (https://nodejs.org), or give the full \
                     path in `command`"
                    .to_owned(),
                "uvx" | "uv" => "install uv (https://docs.astral.sh/uv), or give the full path in \
                     `command`"
                    .to_owned(),
                _ => "install it, or give the full path in `command`".to_owned(),
            }),
            Self::AddonMissing { hint, .. } => hint.clone(),
            Self::Malware { advisories, .. } => {
                let first = advisories.first()?;
                Some(format!(
                    "remove it from mcp_servers; see https://osv.dev/vulnerability/{first}"
                ))
            }
            Self::NeedsLogin { .. } => Some(format!("run `hermes mcp login {server}`")),
            Self::Ended { .. } | Self::NotMcp(_) | Self::NotStarted(_) => {
                Some("what it printed is in logs/mcp-stderr.log".to_owned())
            }
            _ => None,
        }
    }
}

fn place(path: Option<&str>) -> String {
    match path {
        Some(path) => format!(" in {path}"),
        None => String::new(),
    }
}

fn said(last: &str) -> String {
    if last.is_empty() {
        String::new()
    } else {
        format!("; it said: {last}")
    }
}

fn because(reason: &str) -> String {
    if reason.is_empty() {
        String::new()
    } else {
        format!(": {reason}")
    }
}
