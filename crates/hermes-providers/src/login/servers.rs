//! The authorisation servers that people log in to with a code, and how each of them is spoken to.

/// How a server is spoken to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// RFC 8628 at the addresses of the Nous Portal.
    Portal,
    /// RFC 8628 at addresses that the server announces.
    Announced,
    /// OpenAI: a code for a code, which is then exchanged.
    OpenAi,
    /// MiniMax: a code bound to a challenge.
    MiniMax,
    /// RFC 8628 at the addresses of GitHub.
    GitHub,
}

/// Where GitHub gives tokens.
pub(super) const GITHUB_TOKENS: &str = "/login/oauth/access_token";

/// An authorisation server.
#[derive(Debug)]
pub struct LoginServer {
    /// The provider its tokens are for.
    pub provider: &'static str,
    pub url: &'static str,
    /// The client that the server knows for programs at a terminal; empty where it knows none, so that
    /// everybody has to name an app of their own.
    pub client_id: &'static str,
    pub scope: &'static str,
    /// The source of its logins in `auth.json`, as the Python runtime names it.
    pub source: &'static str,
    pub(super) protocol: Protocol,
}

/// The source of a login that stands for itself, beside others of the same provider.
const OF_ONE_ACCOUNT: &str = "manual:device_code";

impl LoginServer {
    /// Whether the Python runtime looks for the login under `providers` as well: there it needs the
    /// addresses, too.
    pub fn is_mirrored(&self) -> bool {
        self.source != OF_ONE_ACCOUNT
    }
}

/// All servers of this kind.
pub const LOGIN_SERVERS: &[LoginServer] = &[
    LoginServer {
        provider: "nous",
        url: "https://portal.nousresearch.com",
        client_id: "hermes-cli",
        scope: "inference:invoke",
        source: "device_code",
        protocol: Protocol::Portal,
    },
    LoginServer {
        provider: "openai-codex",
        url: "https://auth.openai.com",
        client_id: "app_EMoamEEZ73f0CkXaXp7hrann",
        scope: "",
        source: OF_ONE_ACCOUNT,
        protocol: Protocol::OpenAi,
    },
    LoginServer {
        provider: "xai-oauth",
        url: "https://auth.x.ai",
        client_id: "b1a00492-073a-47ea-816f-4c329264a828",
        scope: "openid profile email offline_access grok-cli:access api:access",
        source: OF_ONE_ACCOUNT,
        protocol: Protocol::Announced,
    },
    LoginServer {
        provider: "minimax-oauth",
        url: "https://api.minimax.io",
        client_id: "78257093-7e40-4613-99e0-527b14b39113",
        scope: "group_id profile model.completion",
        source: "oauth",
        protocol: Protocol::MiniMax,
    },
    LoginServer {
        provider: "copilot",
        url: "https://github.com",
        client_id: "",
        scope: "read:user",
        source: OF_ONE_ACCOUNT,
        protocol: Protocol::GitHub,
    },
];

/// The server of a provider's logins.
pub fn login_server(provider: &str) -> Option<&'static LoginServer> {
    LOGIN_SERVERS
        .iter()
        .find(|server| server.provider == provider)
}
