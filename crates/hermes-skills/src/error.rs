//! Why something about skills failed, and what to do about it.

/// Result of an operation on skills.
pub type Result<T> = std::result::Result<T, Error>;

/// An operation that failed.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    /// Something asked for cannot be: a name, a path, a text.
    #[error("{message}")]
    Refused {
        message: String,
        hint: Option<String>,
    },
    /// Something outside of this machine did not answer as needed.
    #[error("{message}")]
    Source { message: String },
    /// The scan found what must not be installed.
    #[error("{message}")]
    Blocked {
        message: String,
        report: crate::guard::ScanReport,
    },
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
    pub(crate) fn refused_with(message: impl Into<String>, hint: impl Into<String>) -> Self {
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
            Self::Source { .. } | Self::Blocked { .. } => None,
        }
    }
}
