//! Why a conversation could not begin or go on.

/// Result of an operation on a conversation.
pub type Result<T> = std::result::Result<T, Error>;

/// What did not happen.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The session could not be read or written.
    #[error(transparent)]
    Session(#[from] hermes_session::Error),
}

impl Error {
    /// What the user can do next, where we know.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Session(error) => error.hint(),
        }
    }
}
