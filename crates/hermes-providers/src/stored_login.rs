//! What a login by code has brought, in the store of keys.

use hermes_config::{Config, Environment, vars};

use crate::login::{CopilotHost, DeviceLogin, LoginConnection, LoginServer};
use crate::pool::{AuthError, AuthFile, CredentialEntry, LoginPortal, LoginTokens};
use crate::setup::builtin;

/// The provider whose portal can be another one, and whose API may move.
const PORTAL: &str = "nous";
/// The provider whose tokens are those for GitHub, and may last.
const COPILOT: &str = "copilot";

/// How a login is kept.
#[derive(Debug, Clone, Default)]
pub struct LoginKeeping<'k> {
    /// Its name in lists; the account's if not given.
    pub label: Option<&'k str>,
    /// Address of the API that the login is for, if it is not the provider's own.
    pub inference_url: Option<String>,
    /// Whether another client than the usual one has logged in.
    pub is_own_client: bool,
}

impl DeviceLogin {
    /// A login with everything as usual.
    pub fn usual(server: &'static LoginServer, config: &Config, env: &Environment) -> Self {
        let url = match server.provider {
            COPILOT => CopilotHost::of_settings(config).address().to_owned(),
            PORTAL => {
                let other = env
                    .text(&vars::HERMES_PORTAL_BASE_URL)
                    .or_else(|| env.text(&vars::NOUS_PORTAL_BASE_URL));
                let other = other.map(|url| url.trim_end_matches('/'));
                other.unwrap_or(server.url).to_owned()
            }
            _ => server.url.to_owned(),
        };
        Self {
            server,
            url,
            client_id: server.client_id.to_owned(),
            scope: server.scope.to_owned(),
            connection: LoginConnection::default(),
        }
    }

    /// Stores what the login has brought; the name of the account, if the tokens tell it.
    pub fn store(
        &self,
        file: &AuthFile,
        config: &Config,
        tokens: &LoginTokens,
        keeping: &LoginKeeping<'_>,
    ) -> Result<Option<String>, AuthError> {
        let provider = self.server.provider;
        let is_mirrored = self.server.is_mirrored();
        let own = builtin(provider).map(|known| known.address(config));
        let is_usual_url = self.url == self.server.url;
        let portal = LoginPortal {
            source: self.server.source,
            url: Some(self.url.clone()).filter(|_| is_mirrored || !is_usual_url),
            client_id: Some(self.client_id.clone())
                .filter(|_| is_mirrored || keeping.is_own_client),
            // The API of the portal may move; the tokens of the others are for one host only.
            inference_url: keeping
                .inference_url
                .clone()
                .or_else(|| own.filter(|_| ![PORTAL, COPILOT].contains(&provider))),
            insecure: self.connection.insecure,
        };
        let id = CredentialEntry::new_id(&file.entries(provider)?);
        let account = tokens.account_name();
        let label = keeping.label.or(account.as_deref()).unwrap_or("login");
        let entry = if provider == COPILOT && tokens.refresh.is_none() {
            CredentialEntry::lasting_login(id, label, &tokens.access, &portal)
        } else {
            CredentialEntry::login(id, label, tokens, &portal)
        };
        file.log_in(provider, &entry)?;
        Ok(account)
    }
}
