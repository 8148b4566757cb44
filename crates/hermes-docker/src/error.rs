//! What can go wrong with a container, in one sentence each and with the way out.
//!
//! A message carries the engine's own words, cut and masked, never the arguments we called it with.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_terminal::remote::TransportError;

/// Result of an operation on containers.
pub type Result<T> = std::result::Result<T, DockerError>;

/// Something a container needed and did not get.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DockerError {
    /// No engine is installed.
    #[error("no container engine was found: neither docker nor podman is on PATH or in {looked}")]
    NoEngine { looked: String },
    /// The variable that names the engine names nothing.
    #[error(
        "HERMES_DOCKER_BINARY is '{value}', which is neither an executable file nor a program on \
         PATH"
    )]
    BadOverride { value: String },
    /// The engine is there and cannot be executed.
    #[error("{} could not be executed: {reason}", program.display())]
    NotExecutable { program: PathBuf, reason: String },
    /// The engine took too long.
    #[error("{} did not answer `{verb}` within {} s", program.display(), limit.as_secs())]
    Slow {
        program: PathBuf,
        verb: String,
        limit: Duration,
    },
    /// The engine's program runs, its daemon does not answer or does not let us in.
    #[error("the container engine cannot be reached: {words}")]
    Unreachable {
        words: String,
        /// Whether we may not use its socket.
        is_denied: bool,
    },
    /// The engine refused; with what was asked in our words, and the engine's.
    #[error("{what} failed: {words}")]
    Refused { what: String, words: String },
    /// An image is not there and could not be fetched.
    #[error("image {image} could not be fetched: {words}")]
    Image { image: String, words: String },
    /// Limits are required and the engine cannot set them.
    #[error("this engine cannot limit containers: {words}")]
    NoLimits { words: String },
    /// Settings that are wrong, contradict each other or make no container.
    #[error("{message}")]
    Settings { message: String, hint: String },
    /// Containers of an image end as soon as they have started.
    #[error(
        "containers of image {image} end as soon as they start{}{}",
        code.map(|code| format!(" (exit code {code})")).unwrap_or_default(),
        last_output(lines)
    )]
    EndsAtOnce {
        image: String,
        code: Option<i64>,
        /// What the last of them printed.
        lines: Vec<String>,
    },
    /// A directory of the sandbox could not be prepared.
    #[error("{message}")]
    Files {
        message: String,
        hint: Option<String>,
    },
    /// A live process uses the sandbox.
    #[error("sandbox {task} is in use by a running Hermes process")]
    InUse { task: String },
}

fn last_output(lines: &[String]) -> String {
    match lines {
        [] => "; it printed nothing".to_owned(),
        lines => format!("; its last output: {}", lines.join(" | ")),
    }
}

impl DockerError {
    /// A directory of the host that no container gets; `why` continues "it …".
    pub(crate) fn never_mounted(path: &Path, why: &str) -> Self {
        Self::Settings {
            message: format!(
                "{} is not mounted at /workspace: it {why}; nothing was run",
                path.display()
            ),
            hint: "work in the directory of a project".to_owned(),
        }
    }

    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::NoEngine { .. } => {
                "install docker or podman, or name one in HERMES_DOCKER_BINARY"
            }
            Self::BadOverride { .. } => "set it to the path of docker or podman, or remove it",
            Self::NotExecutable { program, .. } => {
                return Some(format!("check that {} is executable", program.display()));
            }
            Self::Slow { .. } => "start the engine, wait until it answers, and try again",
            Self::Unreachable {
                is_denied: true, ..
            } => "add your user to the group `docker` and log in again, or use podman",
            Self::Unreachable { .. } => {
                "start the daemon (`systemctl start docker`, or Docker Desktop) and try again"
            }
            Self::Refused { .. } => return None,
            Self::Image { .. } => "check the setting terminal.docker_image and the network",
            Self::NoLimits { .. } => {
                "set terminal.docker_require_limits to false to run without limits"
            }
            Self::Settings { hint, .. } => hint,
            Self::EndsAtOnce { .. } => {
                "set terminal.docker_image to an image whose entry point runs the command it is \
                 given, or add \"--entrypoint=\" to terminal.docker_extra_args"
            }
            Self::Files { hint, .. } => return hint.clone(),
            Self::InUse { .. } => "stop that process first",
        };
        Some(hint.to_owned())
    }

    /// Whether a program or service is missing or down, as opposed to something to correct.
    pub fn is_missing_part(&self) -> bool {
        matches!(
            self,
            Self::NoEngine { .. }
                | Self::BadOverride { .. }
                | Self::NotExecutable { .. }
                | Self::Slow { .. }
                | Self::Unreachable { .. }
        )
    }
}

impl From<DockerError> for TransportError {
    fn from(error: DockerError) -> Self {
        Self {
            message: error.to_string(),
            hint: error.hint(),
            is_missing_part: error.is_missing_part(),
        }
    }
}

impl From<hermes_fs::Error> for DockerError {
    fn from(error: hermes_fs::Error) -> Self {
        Self::Files {
            message: error.to_string(),
            hint: error.hint(),
        }
    }
}
