//! Why a login did not come about.

/// Why a login did not come about.
#[derive(Debug, Clone, thiserror::Error)]
pub(crate) enum LoginFailure {
    /// The provider does not answer.
    #[error("the login provider cannot be reached ({0})")]
    Unreachable(String),
    /// The provider answers nonsense, or is configured wrongly.
    #[error("the login provider cannot be used: {0}")]
    Unusable(String),
    /// The provider says no.
    #[error("the login was refused: {0}")]
    Refused(String),
}
