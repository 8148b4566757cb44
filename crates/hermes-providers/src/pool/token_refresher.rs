//! Who gives new tokens when those of a login have expired.

use hermes_secret::SecretString;

use super::credential::CredentialEntry;
use super::login_tokens::LoginTokens;

/// Asks for a new access token.
pub(crate) trait TokenRefresher: std::fmt::Debug + Send + Sync {
    /// New tokens for those of an entry, given the entry's refresh token.
    fn refresh(&self, entry: &CredentialEntry, token: &SecretString)
    -> Result<LoginTokens, String>;
}
