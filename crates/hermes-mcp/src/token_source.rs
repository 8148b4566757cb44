//! Where the tokens of remote servers come from.
//!
//! The transports ask before every request and report a refusal; how a token is got, kept and
//! renewed is the implementation's business.

use std::fmt;
use std::future::Future;
use std::pin::Pin;

use hermes_secret::SecretString;

/// An answer that may need the network.
pub type TokenFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The token of one server. Shared by all of its connections; called on the thread of the pool, so
/// nothing in it may block.
pub trait TokenSource: Send + Sync {
    /// The token for the next request, renewed first if it is about to expire; `None` to send none.
    fn bearer(&self) -> TokenFuture<'_, Option<SecretString>>;

    /// The server refused a request with 401 that carried this token. Whether the request is worth
    /// repeating: there is another token now. `Err` says why a person has to log in again.
    fn refused<'a>(
        &'a self,
        token: Option<&'a SecretString>,
    ) -> TokenFuture<'a, Result<(), NeedsLogin>>;
}

/// Only a person can get the next token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct NeedsLogin(pub String);

impl fmt::Display for NeedsLogin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
