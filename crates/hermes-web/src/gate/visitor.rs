//! Who asks.

use std::net::IpAddr;

use super::sessions::Identity;

/// How a request was let in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Access {
    /// What anybody may see.
    Public,
    /// The token of this machine's page.
    Token,
    /// Somebody who has logged in.
    Session(Identity),
    /// The secret for asking the gateway to take no new work, on the path that it opens.
    Drain,
    /// The gate is off.
    Open,
}

/// The one who asks, and how.
#[derive(Debug, Clone)]
pub(crate) struct Visitor {
    /// The client itself, also behind a trusted proxy.
    pub(crate) address: IpAddr,
    /// Whether the client's connection is encrypted.
    pub(crate) is_https: bool,
    /// The path under which a trusted proxy shows the dashboard; empty, or `/name` without a slash at
    /// its end.
    pub(crate) prefix: String,
    pub(crate) access: Access,
}

impl Visitor {
    pub(crate) fn identity(&self) -> Option<&Identity> {
        match &self.access {
            Access::Session(identity) => Some(identity),
            Access::Public | Access::Token | Access::Drain | Access::Open => None,
        }
    }
}
