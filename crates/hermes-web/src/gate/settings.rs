//! What the gate is made from.

use hermes_secret::SecretString;

use super::drain_secret::DrainSecret;
use super::forwarded::TrustedProxies;
use super::password::PasswordSettings;
use super::remote::RemoteSettings;
use super::web_address::WebAddress;

/// Name of the login by password.
pub(crate) const PASSWORD: &str = "basic";

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    /// This machine only, with the token of the page.
    Local,
    /// Whoever has logged in.
    Gated,
    /// Anybody, as the user insists; `full` with secrets and terminals.
    Open { full: bool },
}

/// What the gate is made from.
#[derive(Debug)]
pub(crate) struct GateSettings {
    /// The address that is listened on.
    pub(crate) host: String,
    pub(crate) mode: Mode,
    /// The token of pages on this machine.
    pub(crate) token: SecretString,
    pub(crate) logins: LoginSettings,
    /// What a service asks with that the gateway takes no new work.
    pub(crate) drain_secret: Option<DrainSecret>,
    pub(crate) public_url: Option<WebAddress>,
    /// Further names under which the dashboard is reached.
    pub(crate) extra_hosts: Vec<String>,
    pub(crate) proxies: TrustedProxies,
}

impl GateSettings {
    pub(crate) fn is_insecure(&self) -> bool {
        matches!(self.mode, Mode::Open { .. })
    }
}

/// The ways to log in.
#[derive(Debug, Default)]
pub(crate) struct LoginSettings {
    pub(crate) password: Option<PasswordSettings>,
    pub(crate) remote: Vec<RemoteSettings>,
    /// What sessions are signed with.
    pub(crate) signing_key: Option<SecretString>,
}

impl LoginSettings {
    pub(crate) fn is_empty(&self) -> bool {
        self.password.is_none() && self.remote.is_empty()
    }

    /// Names of the providers.
    pub(crate) fn names(&self) -> Vec<&'static str> {
        let password = self.password.as_ref().map(|_| PASSWORD);
        let remote = self.remote.iter().map(|provider| provider.name);
        password.into_iter().chain(remote).collect()
    }
}
