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
    #[error("the page of the login reported: {0}")]
    Reported(String),
    #[error("{0} offers no PKCE with S256, without which a code could be stolen")]
    NoPkce(String),
    #[error("the answer does not come from {0}, the authorisation server that was asked")]
    WrongIssuer(String),
    #[error("the server says that its tokens are for another one: {0}")]
    WrongResource(String),
    #[error("the server names an address inside this network: {0}")]
    Inside(String),
    #[error("{0} lets no program register itself")]
    NoRegistration(String),
}

impl LoginError {
    /// What the user can do.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::Denied | Self::Expired | Self::NobodyCame => "start the login again",
            Self::Unreachable { .. } => "check the network; behind a proxy, set HTTPS_PROXY",
            Self::Address(_) => "an address starts with https:// and a host",
            Self::NoRegistration(_) => {
                "register a client there by hand, and set its id as `oauth.client_id` of the server"
            }
            Self::NoPkce(_)
            | Self::WrongIssuer(_)
            | Self::WrongResource(_)
            | Self::Inside(_)
            | Self::Reported(_)
            | Self::Interrupted
            | Self::Refused { .. }
            | Self::Incomplete { .. }
            | Self::NoPort(_) => return None,
        })
    }

    /// Whether the server or the way to it is at fault.
    pub fn is_outside(&self) -> bool {
        matches!(
            self,
            Self::Unreachable { .. }
                | Self::Incomplete { .. }
                | Self::NoPkce(_)
                | Self::WrongIssuer(_)
                | Self::WrongResource(_)
                | Self::Inside(_)
        )
    }
}
