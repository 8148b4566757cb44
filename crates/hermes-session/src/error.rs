//! Why an operation on sessions failed, and what the user can do about it.

use std::path::PathBuf;

/// Result of an operation on sessions.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error(transparent)]
    Store(#[from] hermes_store::Error),
    #[error("invalid session id: '{shown}'")]
    InvalidId {
        /// The text, safe to print.
        shown: String,
    },
    #[error("no such session: '{shown}'")]
    Unknown {
        /// The id or title asked for, safe to print.
        shown: String,
    },
    #[error("'{shown}' matches {count} session ids")]
    Ambiguous {
        shown: String,
        count: usize,
        examples: Vec<String>,
    },
    #[error("session '{id}' already exists")]
    Exists { id: String },
    #[error("the title '{title}' is already used by session {holder}")]
    TitleTaken { title: String, holder: String },
    #[error("the title is too long: {length} characters (limit {most})")]
    TitleTooLong { length: usize, most: usize },
    #[error("the title is empty")]
    EmptyTitle,
    #[error("session {session} has no message {message}")]
    UnknownMessage { session: String, message: i64 },
    /// A message of the current conversation, which is in its context anyway.
    #[error("message {message} is part of the current conversation")]
    InContext { message: i64 },
    /// A step whose results do not answer exactly the calls of its message: storing it would leave
    /// a history that no provider accepts.
    #[error("the step was not stored: {detail}")]
    IncompleteStep {
        /// Which call or result has no counterpart.
        detail: String,
    },
    /// The compaction lock of the session expired, or another process holds it.
    #[error(
        "session {session} was not compacted: {}",
        holder.as_ref().map_or_else(
            || "its compaction lock has expired".to_owned(),
            |holder| format!("{holder} is compacting it"),
        )
    )]
    CompactionLost {
        session: String,
        holder: Option<String>,
    },
    /// A message to be summarised has left the conversation: another process has undone or
    /// summarised it.
    #[error("session {session} was not compacted: another process has changed it in the meantime")]
    CompactionStale { session: String },
}

impl Error {
    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Store(hermes_store::Error::Corrupt { .. }) => Some(
                "run `hermes sessions repair`: it checks the file and saves what can be read"
                    .to_owned(),
            ),
            Self::Store(error) => error.hint(),
            Self::InvalidId { .. } | Self::Unknown { .. } => {
                Some("list the sessions of this profile with `hermes sessions list`".to_owned())
            }
            Self::Ambiguous { examples, .. } => {
                let names = examples.join(", ");
                Some(format!("give more characters of the id: {names}"))
            }
            Self::TitleTaken { holder, .. } => {
                Some(format!("choose another title, or rename {holder} first"))
            }
            Self::TitleTooLong { .. } | Self::EmptyTitle => Some("choose another title".to_owned()),
            Self::CompactionLost { .. } | Self::CompactionStale { .. } => {
                Some("try again once the other process is done".to_owned())
            }
            Self::Exists { .. }
            | Self::UnknownMessage { .. }
            | Self::InContext { .. }
            | Self::IncompleteStep { .. } => None,
        }
    }

    /// Whether the disk or the user's quota is full.
    pub fn is_storage_full(&self) -> bool {
        match self {
            Self::Store(error) => error.is_storage_full(),
            Self::File(error) => error.is_storage_full(),
            _ => false,
        }
    }

    /// Whether another process held the file locked for too long.
    pub fn is_busy(&self) -> bool {
        matches!(self, Self::Store(error) if error.is_retryable())
    }

    /// Whether the file is damaged or no database.
    pub fn is_damage(&self) -> bool {
        matches!(
            self,
            Self::Store(
                hermes_store::Error::Corrupt { .. } | hermes_store::Error::NotADatabase { .. }
            )
        )
    }
}

/// Characters of an untrusted text that an error message shows.
const MAX_SHOWN: usize = 80;

/// Untrusted text in an error message: shortened, control characters escaped.
pub(crate) fn display_text(text: &str) -> String {
    hermes_text::shown(text, MAX_SHOWN)
}

/// The session database of a home.
pub fn database_path(home: &std::path::Path) -> PathBuf {
    home.join("state.db")
}
