//! What can go wrong with another process.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Result of a process operation.
pub type Result<T> = std::result::Result<T, Error>;

/// A process operation that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("could not start {}: {source}", program.display())]
    Start { program: PathBuf, source: io::Error },
    #[error("could not start {} in {}: no such directory", program.display(), cwd.display())]
    MissingDirectory { program: PathBuf, cwd: PathBuf },
    #[error("{} did not finish within {} s and was \
        stopped", program.display(), limit.as_secs_f32())]
    Deadline { program: PathBuf, limit: Duration },
    #[error("{} was stopped before it had finished", program.display())]
    Cancelled { program: PathBuf },
    #[error("lost track of {}: {source}", program.display())]
    Wait { program: PathBuf, source: io::Error },
    #[error("could not {action} process {pid}: {source}")]
    Signal {
        /// Verb that completes "could not … process N".
        action: &'static str,
        pid: u32,
        source: io::Error,
    },
    #[error("process {pid} is still running after SIGKILL")]
    Unkillable { pid: u32 },
}

impl Error {
    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Start { program, source } => match source.kind() {
                io::ErrorKind::NotFound => Some(format!(
                    "install {} or put its directory on PATH",
                    program.display()
                )),
                io::ErrorKind::PermissionDenied => {
                    Some(format!("check that {} is executable", program.display()))
                }
                _ => None,
            },
            Self::MissingDirectory { cwd, .. } => Some(format!("create {}", cwd.display())),
            Self::Deadline { .. } => {
                Some("check the network and the program's own logs, then try again".to_owned())
            }
            Self::Signal { source, pid, .. } => (source.kind() == io::ErrorKind::PermissionDenied)
                .then(|| format!("process {pid} belongs to another user; stop it as that user")),
            Self::Unkillable { .. } => {
                Some("it is waiting for a device or a network disk; try again later".to_owned())
            }
            Self::Cancelled { .. } | Self::Wait { .. } => None,
        }
    }
}
