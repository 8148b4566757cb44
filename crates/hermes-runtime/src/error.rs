//! Why a conversation or its tools cannot be had.

use std::path::PathBuf;

use hermes_config::settings::{Problem, WrongValue};
use hermes_docker::DockerError;
use hermes_terminal::remote::TransportError;

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;

/// Who can do something about an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user, by asking for something else.
    User,
    /// The user, by changing the settings.
    Config,
    /// Whoever runs the machine: a needed program or service is missing, down or full.
    Environment,
    /// Somebody on the network.
    Remote,
    /// The programmers.
    Internal,
}

/// Why a conversation or its tools cannot be had.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file of the home or the working directory.
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    /// The home cannot be made.
    #[error(transparent)]
    Home(#[from] hermes_home::EnsureError),
    /// The board of the worker.
    #[error(transparent)]
    Board(#[from] hermes_board::Error),
    /// The store of sessions.
    #[error(transparent)]
    Session(#[from] hermes_session::Error),
    /// The model cannot be used under these settings.
    #[error(transparent)]
    Provider(#[from] hermes_providers::OpenError),
    /// The container engine.
    #[error(transparent)]
    Docker(#[from] DockerError),
    /// The remote machine.
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A settings file that cannot be read as one.
    #[error("{0}")]
    BrokenSettings(Problem),
    /// The setting `terminal.backend` names no backend.
    #[error("{0}; nothing was run")]
    WrongBackendSetting(WrongValue),
    /// A backend of this name does not exist.
    #[error("there is no terminal backend '{name}'; nothing was run")]
    UnknownBackend {
        /// The name.
        name: String,
        /// Names of backends.
        known: &'static [&'static str],
    },
    /// The backend exists in the reference only.
    #[error("backend '{0}' is not available in this build; nothing was run")]
    UnavailableBackend(String),
    /// No session was recorded under the source.
    #[error("there is no earlier session of the source '{0}'")]
    NoEarlierSession(String),
    /// The session is gone.
    #[error("there is no session '{0}'")]
    NoSession(String),
    /// None of the toolsets asked for exists.
    #[error("none of the toolsets named exists")]
    NoToolset,
    /// `model.min_context_enforcement: strict` and a small context window.
    #[error("{0}")]
    SmallContextWindow(String),
    /// The file is of no image format that providers take.
    #[error("{} is no image that can be sent", .0.display())]
    NotAnImage(PathBuf),
    /// A worktree without git.
    #[error("a worktree needs git, which is not installed")]
    NoGit,
    /// A worktree outside a repository.
    #[error("a worktree needs a git repository, and {} is in none", .0.display())]
    NoRepository(PathBuf),
    /// git refused.
    #[error("the worktree could not be made: {0}")]
    Worktree(String),
    /// The directory the program was started in has been removed.
    #[error("the current directory does not exist any more")]
    NoDirectory,
    /// The process or the machine is out of file descriptors or threads.
    #[error("no file descriptor is left: {0}")]
    NoDescriptor(#[source] std::io::Error),
}

impl Error {
    /// Who can do something about the error.
    pub fn kind(&self) -> ErrorKind {
        let outside = match self {
            Self::File(error) => error.is_storage_full(),
            Self::Home(error) => {
                matches!(error, hermes_home::EnsureError::File(file) if file.is_storage_full())
            }
            Self::Board(error) => error.is_storage_full(),
            Self::Session(error) => error.is_storage_full() || error.is_busy(),
            Self::Docker(error) => error.is_missing_part(),
            Self::Transport(error) => error.is_missing_part,
            Self::UnavailableBackend(_) | Self::NoGit | Self::NoDescriptor(_) => true,
            Self::Provider(_) | Self::BrokenSettings(_) | Self::WrongBackendSetting(_) => {
                return ErrorKind::Config;
            }
            Self::UnknownBackend { .. }
            | Self::NoEarlierSession(_)
            | Self::NoSession(_)
            | Self::NoToolset
            | Self::SmallContextWindow(_)
            | Self::NotAnImage(_)
            | Self::NoRepository(_)
            | Self::Worktree(_)
            | Self::NoDirectory => false,
        };
        if outside {
            ErrorKind::Environment
        } else {
            ErrorKind::User
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::File(error) => return error.hint(),
            Self::Home(error) => return error.hint(),
            Self::Board(error) => return error.hint(),
            Self::Session(error) => return error.hint(),
            Self::Docker(error) => return error.hint(),
            Self::Transport(error) => return error.hint.clone(),
            Self::BrokenSettings(problem) => return problem.hint(),
            Self::Provider(error) => return Some(error.hint()),
            Self::WrongBackendSetting(wrong) => return Some(wrong.hint()),
            Self::UnknownBackend { known, .. } => {
                return Some(format!("the backends are {}", known.join(", ")));
            }
            Self::UnavailableBackend(_) => {
                "`hermes config set terminal.backend local` runs commands on this machine"
            }
            Self::NoEarlierSession(_) => "`hermes sessions list` shows what there is",
            Self::SmallContextWindow(_) => {
                "choose another model, or set `model.min_context_enforcement` to `warn`"
            }
            Self::NotAnImage(_) => "png, jpg, gif, webp, bmp, tiff and heic files can be sent",
            Self::NoRepository(_) => "change into a repository, or leave -w out",
            Self::NoDirectory => "change to one that does",
            Self::NoSession(_)
            | Self::NoToolset
            | Self::NoGit
            | Self::Worktree(_)
            | Self::NoDescriptor(_) => return None,
        };
        Some(hint.to_owned())
    }
}
