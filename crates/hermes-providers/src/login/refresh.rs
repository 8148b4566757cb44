//! A new access token for one that has expired.

use hermes_config::Config;
use hermes_secret::SecretString;

use super::client::LoginClient;
use super::device::token_address;
use super::renewal::{error, judged, read};
use super::servers::{GITHUB_TOKENS, Protocol};
use super::{LoginConnection, QwenLogin, login_server, minimax};
use crate::pool::{CredentialEntry, LoginTokens, RefreshError, TokenRefresher};

/// Asks the server that issued a token.
pub(crate) struct LoginRefresher {
    config: Config,
}

impl LoginRefresher {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
        }
    }
}

impl std::fmt::Debug for LoginRefresher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LoginRefresher").finish_non_exhaustive()
    }
}

impl TokenRefresher for LoginRefresher {
    fn refresh(
        &self,
        provider: &str,
        entry: &CredentialEntry,
        token: &SecretString,
    ) -> Result<LoginTokens, RefreshError> {
        let server = login_server(provider)
            .ok_or_else(|| RefreshError::passing("logins of this provider cannot be renewed"))?;
        let url = entry.portal_url().unwrap_or(server.url);
        let client_id = entry.client_id().unwrap_or(server.client_id);
        let connection = LoginConnection {
            insecure: entry.trusts_any_certificate(),
            ..LoginConnection::default()
        };
        let client = LoginClient::new(&self.config, &connection, url).map_err(error)?;
        let grant = [("grant_type", "refresh_token"), ("client_id", client_id)];
        let with_token = [grant[0], grant[1], ("refresh_token", token.expose())];
        let (answer, client) = match server.protocol {
            Protocol::Portal => {
                // The portal takes the token in a header, so that it stands in no log of requests.
                let headers = vec![("x-nous-refresh-token", token.expose().to_owned())];
                (
                    client.post_form("/api/oauth/token", &grant, headers),
                    client,
                )
            }
            Protocol::OpenAi | Protocol::MiniMax => {
                let answer = client.post_form("/oauth/token", &with_token, Vec::new());
                (answer, client)
            }
            Protocol::GitHub => {
                let answer = client.post_form(GITHUB_TOKENS, &with_token, Vec::new());
                (answer, client)
            }
            Protocol::Announced => {
                let address = token_address(&client).map_err(error)?;
                let tokens =
                    LoginClient::new(&self.config, &connection, &address).map_err(error)?;
                (tokens.post_form("", &with_token, Vec::new()), tokens)
            }
        };
        let answer = answer.map_err(error)?;
        if server.protocol == Protocol::MiniMax {
            return minimax::renewed(&answer, &client).map_err(|refused| judged(&answer, &refused));
        }
        read(&answer, &client)
    }

    fn refresh_elsewhere(
        &self,
        entry: &CredentialEntry,
    ) -> Option<Result<CredentialEntry, RefreshError>> {
        (entry.source() == QwenLogin::SOURCE).then(|| QwenLogin::renew(&self.config, entry))
    }
}
