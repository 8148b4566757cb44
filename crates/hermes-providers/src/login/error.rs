//! Why a login did not come about.

/// Why a login did not come about.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LoginError {
    #[error("the login was declined")]
    Denied,
    #[error("the code has expired before anybody used it")]
    Expired,
    #[error("the login was interrupted")]
    Interrupted,
    #[error("nobody came back from the browser in time")]
    NobodyCame,
    #[error("`{0}` is not an https address, nor one on this machine")]
    Address(String),
    #[error("{host} cannot be reached: {reason}")]
    Unreachable { host: String, reason: String },
    #[error("{host} refused the login (HTTP {status}): {message}")]
    Refused {
        host: String,
        status: u16,
        message: String,
    },
    #[error("{host} answered without {what}")]
    Incomplete { host: String, what: &'static str },
    #[error("no port could be opened on this machine: {0}")]
    NoPort(String),
}

impl LoginError {
    /// What the user can do.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Denied | Self::Expired | Self::NobodyCame => "start the login again",
            Self::Unreachable { .. } => "check the network; behind a proxy, set HTTPS_PROXY",
            Self::Address(_) => "an address starts with https:// and a host",
            Self::Interrupted
            | Self::Refused { .. }
            | Self::Incomplete { .. }
            | Self::NoPort(_) => return None,
        })
    }

    /// Whether the server or the way to it is at fault.
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Incomplete { .. })
    }
}
