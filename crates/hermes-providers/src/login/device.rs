//! A login with a code that is typed on any device with a browser.

use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_proc::Wake;

use super::client::LoginClient;
use super::code_request::{CodeRequest, DevicePrompt};
use super::poll::{Pace, Polled, standard};
use super::servers::Protocol;
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
        let answer = client.post_form(codes, &fields, Vec::new())?;
        if answer.status != 200 {
            return Err(client.refused(&answer));
        }
        let device_code = answer.value["device_code"].as_str();
        let device_code = device_code.ok_or_else(|| client.incomplete("a device code"))?;
        let prompt = DevicePrompt::read(&answer.value, client)?;
        let seconds = |key: &str, usual: u64| {
            Duration::from_secs(answer.value[key].as_u64().unwrap_or(usual))
        };
        let pace = Pace {
            interval: seconds("interval", USUAL_INTERVAL),
            deadline: Instant::now() + seconds("expires_in", USUAL_LIFETIME),
        };
        show(&prompt);
        let given = pace.poll(interrupt, || -> Result<Polled, LoginError> {
            let fields = [
                ("grant_type", GRANT),
                ("client_id", self.client_id.as_str()),
                ("device_code", device_code),
            ];
            standard(tokens.post_form(path, &fields, Vec::new())?, tokens)
        })?;
        LoginTokens::read(&given).ok_or_else(|| tokens.incomplete("a token"))
    }
}

/// Where a server says that it gives tokens. The address gets to see every token, so it has to belong
/// to the server.
pub(super) fn token_address(client: &LoginClient) -> Result<String, LoginError> {
    let answer = client.get("/.well-known/openid-configuration")?;
    if answer.status != 200 {
        return Err(client.refused(&answer));
    }
    let address = answer.value["token_endpoint"].as_str().unwrap_or_default();
    let host = host_of(address);
    let is_own = host == client.host || (is_host(&client.host, "x.ai") && is_host(&host, "x.ai"));
    if is_own {
        Ok(address.to_owned())
    } else {
        Err(client.incomplete("an address for tokens of its own"))
    }
}
