//! Logins to servers with `auth: oauth`: what the settings say, the files that tokens are kept in, and
//! their renewal.
//!
//! A session never opens a browser. Only `hermes mcp login` does, at a terminal; everything else uses
//! the tokens that are there, renews them, or says that a person has to log in.

mod login;
mod settings;
mod token_files;
mod tokens;

pub use login::{OAuthError, log_in};
pub use token_files::TokenFiles;
pub use tokens::OAuthTokens;
