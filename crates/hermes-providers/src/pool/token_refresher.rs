//! Who gives new tokens when those of a login have expired.

use hermes_secret::SecretString;

use super::credential::CredentialEntry;
use super::login_tokens::LoginTokens;

/// Why there are no new tokens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RefreshError {
    /// One line without secrets.
    pub reason: String,
    /// Whether only another login helps.
    pub is_final: bool,
}

impl RefreshError {
    /// Something that may pass.
    pub(crate) fn passing(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_final: false,
        }
    }
}

/// Asks for a new access token.
pub(crate) trait TokenRefresher: std::fmt::Debug + Send + Sync {
    /// New tokens for those of an entry, given the entry's refresh token.
    fn refresh(
        &self,
        provider: &str,
        entry: &CredentialEntry,
        token: &SecretString,
    ) -> Result<LoginTokens, RefreshError>;

    /// The entry of a login that another program keeps, with new tokens; `None` if it is not of that
    /// kind.
    fn refresh_elsewhere(
        &self,
        entry: &CredentialEntry,
    ) -> Option<Result<CredentialEntry, RefreshError>>;
}
