//! A login with a code that is typed on any device with a browser.

use std::time::Duration;

use hermes_config::Config;
use hermes_proc::Wake;

use super::client::LoginClient;
use super::code_request::{CodeRequest, DevicePrompt};
use super::poll::{IssuedCode, Pace, standard};
use super::servers::{GITHUB_TOKENS, Protocol};
use super::{LoginConnection, LoginError, LoginServer, minimax, openai};
use crate::pool::LoginTokens;
use crate::route::{host_of, is_host};

/// Seconds between questions if the server does not say.
const USUAL_INTERVAL: u64 = 5;
/// How long a code holds if the server does not say.
const USUAL_LIFETIME: u64 = 900;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:device_code";

/// A login by device code.
#[derive(Debug, Clone)]
pub struct DeviceLogin {
    pub server: &'static LoginServer,
    /// Address of the server.
    pub url: String,
    pub client_id: String,
    pub scope: String,
    pub connection: LoginConnection,
}

impl DeviceLogin {
    /// Asks for a code, shows it, and waits until somebody has used it.
    pub fn run(
        &self,
        config: &Config,
        interrupt: &Wake,
        show: &mut dyn FnMut(&DevicePrompt),
    ) -> Result<LoginTokens, LoginError> {
        let client = self.client(config)?;
        match self.server.protocol {
            Protocol::Portal => {
                let paths = ("/api/oauth/device/code", "/api/oauth/token");
                self.standard(&client, paths.0, (&client, paths.1), interrupt, show)
            }
            Protocol::GitHub => {
                let paths = ("/login/device/code", GITHUB_TOKENS);
                self.standard(&client, paths.0, (&client, paths.1), interrupt, show)
            }
            Protocol::Announced => {
                let address = token_address(&client)?;
                let tokens = LoginClient::new(config, &self.connection, &address)?;
                self.standard(
                    &client,
                    "/oauth2/device/code",
                    (&tokens, ""),
                    interrupt,
                    show,
                )
            }
            Protocol::OpenAi => openai::log_in(&self.request(&client), interrupt, show),
            Protocol::MiniMax => minimax::log_in(&self.request(&client), interrupt, show),
        }
    }

    fn client(&self, config: &Config) -> Result<LoginClient, LoginError> {
        LoginClient::new(config, &self.connection, &self.url)
    }

    fn request<'a>(&'a self, client: &'a LoginClient) -> CodeRequest<'a> {
        CodeRequest {
            client,
            client_id: &self.client_id,
            scope: &self.scope,
        }
    }

    /// The login of RFC 8628: a path for codes, and one for tokens, maybe of another host.
    fn standard(
        &self,
        client: &LoginClient,
        codes: &str,
        (tokens, path): (&LoginClient, &str),
        interrupt: &Wake,
        show: &mut dyn FnMut(&DevicePrompt),
    ) -> Result<LoginTokens, LoginError> {
        let fields = [
            ("client_id", self.client_id.as_str()),
            ("scope", self.scope.as_str()),
        ];
        let answer = client.accepted(client.post_form(codes, &fields, Vec::new())?)?;
        let device_code = client.text(&answer, "device_code", "a device code")?;
        let seconds =
            |key: &str, usual: u64| Duration::from_secs(answer[key].as_u64().unwrap_or(usual));
        let issued = IssuedCode {
            prompt: DevicePrompt::read(&answer, client)?,
            pace: Pace::new(
                seconds("interval", USUAL_INTERVAL),
                seconds("expires_in", USUAL_LIFETIME),
            ),
        };
        let fields = [
            ("grant_type", GRANT),
            ("client_id", self.client_id.as_str()),
            ("device_code", device_code),
        ];
        let given = issued.wait(
            tokens,
            (interrupt, show),
            || tokens.post_form(path, &fields, Vec::new()),
            |answer| standard(answer, tokens),
        )?;
        tokens.tokens(&given)
    }
}

/// Where a server says that it gives tokens. The address gets to see every token, so it has to belong
/// to the server.
pub(super) fn token_address(client: &LoginClient) -> Result<String, LoginError> {
    let answer = client.get("/.well-known/openid-configuration", Vec::new())?;
    let answer = client.accepted(answer)?;
    let address = answer["token_endpoint"].as_str().unwrap_or_default();
    let host = host_of(address);
    let is_own = host == client.host || (is_host(&client.host, "x.ai") && is_host(&host, "x.ai"));
    if is_own {
        Ok(address.to_owned())
    } else {
        Err(client.incomplete("an address for tokens of its own"))
    }
}
