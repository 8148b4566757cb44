//! Keys that are not sent themselves, but a token that is given for them.

use hermes_secret::SecretString;

use super::credential::CredentialEntry;

/// Exchanges a key for the token that requests carry.
pub(crate) trait TokenExchange: std::fmt::Debug + Send + Sync {
    /// The token for a key; the key itself where it is given none.
    fn token(&self, key: &SecretString, entry: &CredentialEntry) -> SecretString;

    /// Forgets the token of a key, which a server does not take any more. Gives whether another one
    /// may be had.
    fn forget(&self, key: &SecretString) -> bool;
}
