//! What did not happen to a session, and what to do about it.

use std::path::PathBuf;

use crate::{MessageId, SessionId};

/// Result of an operation on sessions.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file could not be read, made or moved.
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    /// The database could not be used.
    #[error(transparent)]
    Store(#[from] hermes_store::Error),
    /// A text that is no id.
    #[error("'{shown}' cannot be the id of a session")]
    InvalidId {
        /// The text, made harmless.
        shown: String,
    },
    /// A session that does not exist.
    #[error("there is no session '{shown}'")]
    Unknown {
        /// What was asked for, made harmless.
        shown: String,
    },
    /// The beginning of more than one id.
    #[error("'{shown}' is the beginning of {count} session ids")]
    Ambiguous {
        /// What was asked for.
        shown: String,
        /// How many sessions it may mean.
        count: usize,
        /// Some of them.
        examples: Vec<SessionId>,
    },
    /// The id of a new session is taken.
    #[error("a session '{id}' exists already")]
    Exists {
        /// The id.
        id: SessionId,
    },
    /// A title that another session has.
    #[error("the title '{title}' belongs to session {holder}")]
    TitleTaken {
        /// The title.
        title: String,
        /// Who has it.
        holder: SessionId,
    },
    /// A title beyond the limit.
    #[error("the title has {length} characters, {most} is the limit")]
    TitleTooLong {
        /// Its length.
        length: usize,
        /// The limit.
        most: usize,
    },
    /// A title of which nothing is left without control characters.
    #[error("the title is empty")]
    EmptyTitle,
    /// A message that does not exist in this session.
    #[error("session {session} has no message {message}")]
    UnknownMessage {
        /// The session.
        session: SessionId,
        /// The number asked for.
        message: MessageId,
    },
    /// A message of the conversation that asks, which it can see anyway.
    #[error("message {message} is part of the conversation you are in")]
    InContext {
        /// The number asked for.
        message: MessageId,
    },
    /// A step whose results do not answer exactly the calls of its message: storing it would leave
    /// a history that no provider accepts.
    #[error("the step was not stored: {detail}")]
    IncompleteStep {
        /// Which call or result has no counterpart.
        detail: String,
    },
    /// The right to compact this session is gone: it expired, or another process has it.
    #[error(
        "session {session} was not compacted: {}",
        holder.as_ref().map_or_else(
            || "the right to do so expired".to_owned(),
            |holder| format!("{holder} does it"),
        )
    )]
    CompactionLost {
        /// The session.
        session: SessionId,
        /// Who has the right.
        holder: Option<String>,
    },
    /// A message that was to be summarised is not part of the conversation any more: another process
    /// has taken it back or summarised it.
    #[error("session {session} was not compacted: another process has changed it meanwhile")]
    CompactionStale {
        /// The session.
        session: SessionId,
    },
}

impl Error {
    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Store(hermes_store::Error::Corrupt { .. }) => Some(
                "`hermes sessions repair` checks the file and saves what can be read".to_owned(),
            ),
            Self::Store(error) => error.hint(),
            Self::InvalidId { .. } | Self::Unknown { .. } => {
                Some("`hermes sessions list` shows the sessions of this profile".to_owned())
            }
            Self::Ambiguous { examples, .. } => {
                let names: Vec<&str> = examples.iter().map(SessionId::as_str).collect();
                Some(format!("give more of the id: {}", names.join(", ")))
            }
            Self::TitleTaken { holder, .. } => {
                Some(format!("choose another title, or rename {holder} first"))
            }
            Self::TitleTooLong { .. } | Self::EmptyTitle => Some("choose another title".to_owned()),
            Self::CompactionLost { .. } | Self::CompactionStale { .. } => {
                Some("try again when the other process is done".to_owned())
            }
            Self::Exists { .. }
            | Self::UnknownMessage { .. }
            | Self::InContext { .. }
            | Self::IncompleteStep { .. } => None,
        }
    }

    /// Whether the disk is full, or what the user may use of it.
    pub fn is_storage_full(&self) -> bool {
        match self {
            Self::Store(error) => error.is_storage_full(),
            Self::File(error) => error.is_storage_full(),
            _ => false,
        }
    }

    /// Whether another process kept the file to itself for too long.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_retryable())
    }

    /// Whether the file contradicts itself or is something else.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Store(
                hermes_store::Error::Corrupt { .. } | hermes_store::Error::NotADatabase { .. }
            )
        )
    }
}

/// A session that does not exist.
pub(crate) fn unknown(id: &SessionId) -> Error {
    Error::Unknown {
        shown: crate::shown(id.as_str()),
    }
}

/// Where a home keeps its sessions.
pub(crate) fn database_of(home: &std::path::Path) -> PathBuf {
    home.join("state.db")
}
