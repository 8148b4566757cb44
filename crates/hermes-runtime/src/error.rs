//! Why a conversation or its tools cannot be had.

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
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error(transparent)]
    Home(#[from] hermes_home::EnsureError),
    #[error(transparent)]
    Board(#[from] hermes_board::Error),
    #[error(transparent)]
    Session(#[from] hermes_session::Error),
    /// The model cannot be used under these settings.
    #[error(transparent)]
    Provider(#[from] hermes_providers::OpenError),
    #[error(transparent)]
    Docker(#[from] DockerError),
    #[error(transparent)]
    Transport(#[from] TransportError),
    /// A settings file that cannot be read as one.
    #[error("{0}")]
    BrokenSettings(Problem),
    /// The setting `terminal.backend` names no backend.
    #[error("{0}; nothing was run")]
    WrongBackendSetting(WrongValue),
    /// None of the toolsets asked for exists.
    #[error("none of the given toolsets exists")]
    NoToolset,
    /// The process or the machine is out of file descriptors or threads.
    #[error("out of file descriptors: {0}")]
    NoDescriptor(#[source] std::io::Error),
    /// Anything else that somebody can do something about.
    #[error("{message}")]
    Refused {
        kind: ErrorKind,
        message: String,
        hint: Option<String>,
    },
}

impl Error {
    /// Something the user asked for and cannot have, perhaps with advice.
    pub(crate) fn user(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self::Refused {
            kind: ErrorKind::User,
            message: message.into(),
            hint: hint.map(str::to_owned),
        }
    }

    /// Something that is missing on this machine.
    pub(crate) fn environment(message: impl Into<String>, hint: Option<&str>) -> Self {
        Self::Refused {
            kind: ErrorKind::Environment,
            message: message.into(),
            hint: hint.map(str::to_owned),
        }
    }

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
            Self::NoDescriptor(_) => true,
            Self::NoToolset => false,
            Self::Provider(_) | Self::BrokenSettings(_) | Self::WrongBackendSetting(_) => {
                return ErrorKind::Config;
            }
            Self::Refused { kind, .. } => return *kind,
        };
        if outside {
            ErrorKind::Environment
        } else {
            ErrorKind::User
        }
    }

    /// What to do next.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Home(error) => error.hint(),
            Self::Board(error) => error.hint(),
            Self::Session(error) => error.hint(),
            Self::Docker(error) => error.hint(),
            Self::Transport(error) => error.hint.clone(),
            Self::BrokenSettings(problem) => problem.hint(),
            Self::Provider(error) => Some(error.hint()),
            Self::WrongBackendSetting(wrong) => Some(wrong.hint()),
            Self::Refused { hint, .. } => hint.clone(),
            Self::NoToolset | Self::NoDescriptor(_) => None,
        }
    }
}
