//! Logins to servers that are not model providers, such as remote MCP servers: each names the
//! authorisation server that gives tokens for it.
//!
//! What is found, registered and granted is passed on as the documents that the servers sent: it is
//! kept in files that the Python runtime reads and writes as well.
//!
//! The crate of the protocol has such a client, too. It would bring a second version of our cryptography,
//! writes codes to the log, and does not prove itself with the secret of a client when it renews.

mod authorization_server;
mod code_login;
mod discovery;
mod registration;
mod token_request;

pub use authorization_server::AuthorizationServer;
pub use code_login::{LoginStep, RedirectAddress, ResourceGrant, ResourceLogin};
pub use registration::ClientRequest;
pub use token_request::renewed_tokens;
