//! How a program is started on a remote host.
//!
//! Implemented by the container backend (`<engine> exec -i …`) and by the SSH backend. Never runs a
//! command of the agent by itself and never falls back to this machine.

use std::ffi::OsString;
use std::path::PathBuf;

use hermes_secret::SecretString;

use super::stream::RemoteStream;

/// A host where commands run, reached through a client program on this machine.
pub trait Transport: Send + Sync {
    /// Makes sure that programs can be started there: creates, starts or connects to it. Does
    /// nothing if that is already so. Blocks; several callers are served by one attempt.
    fn ensure(&self) -> Result<(), TransportError>;

    /// The client on this machine that runs `argv` there, with the client's standard streams as the
    /// program's. Only valid after [`Transport::ensure`].
    fn launch(&self, argv: &[&str]) -> Result<Launch, TransportError>;

    /// The same without a client, where that is possible.
    fn connect(&self, _argv: &[&str]) -> Connection {
        Connection::Unavailable
    }

    /// What it means that a client ended before the program there said that it had started.
    /// `stderr` is what the client itself printed.
    fn diagnose(&self, exit_code: Option<i32>, stderr: &str) -> Trouble;

    /// Called before each command, for what must be brought there first. A failure is logged and the
    /// command runs all the same.
    fn before_command(&self) -> Result<(), TransportError>;

    /// What sessions begin with: settings of the host and variables forwarded to it, in the order
    /// in which they are set. They travel through a pipe, never through arguments or files.
    fn session_variables(&self) -> Vec<SessionVariable>;

    /// Where sessions start, as seen there. A leading `~` is for the shell there to expand.
    fn start_directory(&self) -> PathBuf;

    /// The host, for messages: `container hermes-0123abcd`, `user@host`.
    fn describe(&self) -> String;

    /// Where its processes are, for messages: `in the container`, `on user@host`.
    fn location(&self) -> String {
        format!("on {}", self.describe())
    }
}

/// A variable for every session.
#[derive(Debug, Clone)]
pub struct SessionVariable {
    pub name: String,
    pub value: SecretString,
}

/// A program there without a client on this machine.
#[derive(Debug)]
pub enum Connection {
    Stream(RemoteStream),
    /// The other side refused, in the words that its client would print.
    Refused(String),
    /// There is no such way, or it does not work: a client is needed.
    Unavailable,
}

/// A client to start on this machine.
pub struct Launch {
    pub program: PathBuf,
    /// Its arguments; never a secret.
    pub args: Vec<OsString>,
    pub variables: Vec<(OsString, OsString)>,
}

/// Why a program did not start there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// The host is gone, stopped or paused: [`Transport::ensure`] may bring it back.
    Gone,
    /// The same may work in a moment: the other side was busy or the connection broke.
    Passing(TransportError),
    Final(TransportError),
}

/// Why a host cannot be used, in one sentence without secrets and with the way out.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct TransportError {
    pub message: String,
    pub hint: Option<String>,
    /// Whether a program or service that is needed is missing or down, as opposed to a setting that
    /// is wrong.
    pub is_missing_part: bool,
}

impl TransportError {
    /// A program or service that is needed is missing or down, and nothing can be advised.
    pub fn missing(message: impl ToString) -> Self {
        Self {
            message: message.to_string(),
            hint: None,
            is_missing_part: true,
        }
    }
}
