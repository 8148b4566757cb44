//! A new access token for one that has expired.

use hermes_config::Config;
use hermes_secret::SecretString;

use super::client::LoginClient;
use super::{LoginConnection, PORTAL_CLIENT, PORTAL_URL};
use crate::pool::{CredentialEntry, LoginTokens, TokenRefresher};

/// Asks the portal that issued a token.
pub(crate) struct PortalRefresher {
    config: Config,
}

impl PortalRefresher {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
        }
    }
}

impl std::fmt::Debug for PortalRefresher {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PortalRefresher").finish_non_exhaustive()
    }
}

impl TokenRefresher for PortalRefresher {
    fn refresh(
        &self,
        entry: &CredentialEntry,
        token: &SecretString,
    ) -> Result<LoginTokens, String> {
        let portal = entry.portal_url().unwrap_or(PORTAL_URL);
        let client_id = entry.client_id().unwrap_or(PORTAL_CLIENT);
        let connection = LoginConnection {
            insecure: entry.trusts_any_certificate(),
            ..LoginConnection::default()
        };
        let client = LoginClient::new(&self.config, &connection, portal)
            .map_err(|error| error.to_string())?;
        let fields = [("grant_type", "refresh_token"), ("client_id", client_id)];
        // The portal takes the token in a header, so that it stands in no log of requests.
        let headers = vec![("x-nous-refresh-token", token.expose().to_owned())];
        let answer = client
            .post_form("/api/oauth/token", &fields, headers)
            .map_err(|error| error.to_string())?;
        if answer.status != 200 {
            return Err(client.refused(&answer).to_string());
        }
        LoginTokens::read(&answer.value).ok_or_else(|| client.incomplete("a token").to_string())
    }
}
