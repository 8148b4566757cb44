//! Why something about plugins failed, and what to do about it.

/// Result of an operation on plugins.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    /// Something asked for cannot be: a name, a path, a manifest.
    #[error("{message}")]
    Refused {
        message: String,
        hint: Option<String>,
    },
    /// Something outside of Hermes did not answer as needed: git, or a repository.
    #[error("{message}")]
    Source { message: String },
}

impl Error {
    /// A refusal.
    pub(crate) fn refused(message: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            hint: None,
        }
    }

    /// A refusal with what to do.
    pub fn refused_with(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::File(error) => error.hint(),
            Self::Refused { hint, .. } => hint.clone(),
            Self::Source { .. } => None,
        }
    }

    /// Whether something outside of Hermes is missing or down.
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::Source { .. })
    }
}
