//! Logging in to a provider instead of pasting a key: with a code typed on another device (RFC 8628),
//! or in the browser of this machine with a redirect to loopback and PKCE (RFC 8252, RFC 7636).
//!
//! Written out here because the requests are few, and the crate for them would bring a second version
//! of half our cryptography.

mod browser;
mod client;
mod code_request;
mod copilot;
mod device;
mod error;
mod minimax;
mod openai;
mod pkce;
mod poll;
mod qwen;
mod redirect_listener;
mod refresh;
mod renewal;
mod resource;
mod servers;

pub use browser::BrowserLogin;
pub use code_request::DevicePrompt;
pub(crate) use copilot::CopilotExchange;
pub use copilot::CopilotHost;
pub use device::DeviceLogin;
pub use error::LoginError;
pub use qwen::QwenLogin;
pub(crate) use refresh::LoginRefresher;
pub use resource::{
    AuthorizationServer, ClientRequest, LoginStep, RedirectAddress, ResourceGrant, ResourceLogin,
    renewed_tokens,
};
pub use servers::{LOGIN_SERVERS, LoginServer, login_server};

use std::path::PathBuf;
use std::time::Duration;

/// How to reach an authorisation server.
#[derive(Debug, Clone)]
pub struct LoginConnection {
    /// How long one request may take.
    pub timeout: Duration,
    /// Certificates to trust instead of the system's.
    pub ca_bundle: Option<PathBuf>,
    /// Whether any certificate is good enough, for tests of a portal.
    pub insecure: bool,
}

impl Default for LoginConnection {
    fn default() -> Self {
        Self {
            timeout: Duration::from_secs(15),
            ca_bundle: None,
            insecure: false,
        }
    }
}
