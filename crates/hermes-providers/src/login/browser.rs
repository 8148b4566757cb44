//! A login in the browser: a page of the provider, which sends the browser back to a port of this
//! machine with a code. The code is of use only to who knows the verifier of its challenge.

use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_proc::Wake;
use hermes_secret::SecretString;
use reqwest::Url;
use serde_json::json;

use super::client::{LoginClient, form};
use super::pkce::Pkce;
use super::redirect_listener::{AwaitedRedirect, RedirectListener};
use super::{LoginConnection, LoginError};

/// The port that the provider's documentation names; another one if it is taken.
const USUAL_PORT: u16 = 3000;
/// How long the person may take in the browser.
const LIMIT: Duration = Duration::from_mins(10);

/// A login at OpenRouter, which gives a key.
#[derive(Debug, Clone)]
pub struct BrowserLogin {
    /// Address of the API, whose host has the page as well.
    pub base_url: String,
    /// Address of the host with the page, if it is another.
    pub page_host: Option<String>,
    pub connection: LoginConnection,
}

impl BrowserLogin {
    /// Waits for the browser to come back. `show` gets the page to open.
    pub fn run(
        &self,
        config: &Config,
        interrupt: &Wake,
        show: &mut dyn FnMut(&str),
    ) -> Result<SecretString, LoginError> {
        let client = LoginClient::new(config, &self.connection, &self.base_url)?;
        let listener = RedirectListener::open(&[USUAL_PORT, 0])?;
        let port = listener.port();
        // Nobody but the provider's page knows the path.
        let path = format!("/callback/{}", hermes_fs::random_hex(32));
        let pkce = Pkce::new();
        let query = form(&[
            ("callback_url", &format!("http://localhost:{port}{path}")),
            ("code_challenge", &pkce.challenge),
            ("code_challenge_method", "S256"),
        ]);
        show(&format!("{}/auth?{query}", self.page_root()?));
        let awaited = AwaitedRedirect {
            paths: &[&path],
            state: None,
            interrupt,
            deadline: Instant::now() + LIMIT,
        };
        let code = listener.wait(&awaited, None)?.code;
        let body = json!({
            "code": code, "code_verifier": pkce.verifier, "code_challenge_method": "S256",
        });
        let answer = client.post_json("/auth/keys", &body)?;
        if answer.status != 200 {
            return Err(client.refused(&answer));
        }
        let key = answer.value["key"].as_str().filter(|key| !key.is_empty());
        key.map(SecretString::from)
            .ok_or_else(|| client.incomplete("a key"))
    }

    /// Scheme, host and port of the page.
    fn page_root(&self) -> Result<String, LoginError> {
        let url = self.page_host.as_ref().unwrap_or(&self.base_url);
        let parsed = Url::parse(url).map_err(|_| LoginError::Address(url.clone()))?;
        Ok(parsed.origin().ascii_serialization())
    }
}
