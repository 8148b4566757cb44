//! Tokens of GitHub Copilot. What a person has is a token for GitHub; some of these are exchanged for one
//! that holds for half an hour, others are taken as they are. Nothing of it is stored.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_config::{Config, vars};
use hermes_secret::SecretString;

use super::LoginConnection;
use super::client::LoginClient;
use crate::pool::{CredentialEntry, TokenExchange};
use crate::route::{host_of, is_host, is_local, program_header};

/// Where the exchange takes place.
const EXCHANGE: &str = "/copilot_internal/v2/token";
/// How long it may take; the token for GitHub serves as well.
const LIMIT: Duration = Duration::from_secs(10);
/// A token that ends within this time is not used any more.
const BEFORE_END: Duration = Duration::from_mins(2);
/// How long a token without a stated end is used, and one that was not exchanged is not tried again.
const UNSTATED: Duration = Duration::from_mins(25);

/// The GitHub of a company, or the public one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CopilotHost {
    address: String,
}

impl CopilotHost {
    /// The host of the settings: `COPILOT_GH_HOST`, or the public one.
    pub fn of_settings(config: &Config) -> Self {
        Self::new(config.sources().env.text(&vars::COPILOT_GH_HOST))
    }

    /// The host with this name or address.
    pub fn at(named: &str) -> Self {
        Self::new(Some(named))
    }

    fn new(named: Option<&str>) -> Self {
        let named = named.map(|host| host.trim().trim_end_matches('/'));
        let address = match named.filter(|host| !host.is_empty()) {
            None => "https://github.com".to_owned(),
            Some(host) if host.contains("://") => host.to_owned(),
            Some(host) => format!("https://{host}"),
        };
        Self { address }
    }

    /// The address of the pages.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// The name of the host, unless it is the public one.
    pub fn own_name(&self) -> Option<String> {
        Some(host_of(&self.address)).filter(|host| host != "github.com")
    }

    /// The address of the API.
    fn api(&self) -> String {
        let host = host_of(&self.address);
        if host == "github.com" || is_host(&host, "ghe.com") {
            format!("https://api.{host}")
        } else if is_local(&host) {
            self.address.clone()
        } else {
            format!("{}/api/v3", self.address)
        }
    }
}

/// Exchanges tokens for GitHub, and remembers what it got while the process lives.
pub(crate) struct CopilotExchange {
    config: Config,
    known: Mutex<HashMap<String, KnownToken>>,
}

#[derive(Clone)]
struct KnownToken {
    token: SecretString,
    until: SystemTime,
}

impl std::fmt::Debug for CopilotExchange {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CopilotExchange").finish_non_exhaustive()
    }
}

impl CopilotExchange {
    pub(crate) fn new(config: &Config) -> Self {
        Self {
            config: config.clone(),
            known: Mutex::default(),
        }
    }

    /// Asks GitHub; `None` if it gives no token for this one.
    fn fetch(&self, key: &SecretString, entry: &CredentialEntry) -> Option<KnownToken> {
        let host = match entry.portal_url() {
            Some(url) => CopilotHost::at(url),
            None => CopilotHost::of_settings(&self.config),
        };
        let connection = LoginConnection {
            timeout: LIMIT,
            insecure: entry.trusts_any_certificate(),
            ..LoginConnection::default()
        };
        let headers = vec![
            ("authorization", format!("token {}", key.expose())),
            program_header(),
        ];
        let asked = LoginClient::new(&self.config, &connection, &host.api()).and_then(|client| {
            let answer = client.accepted(client.get(EXCHANGE, headers)?)?;
            let token = client.text(&answer, "token", "a token")?;
            let stated = answer["expires_at"].as_u64().map(Duration::from_secs);
            let stated = stated.and_then(|since| UNIX_EPOCH.checked_add(since));
            Ok(KnownToken {
                token: SecretString::from(token),
                until: stated.unwrap_or_else(|| SystemTime::now() + UNSTATED),
            })
        });
        match asked {
            Ok(known) => Some(known),
            Err(error) => {
                // Not every account and kind of token has such an exchange.
                tracing::debug!("the token for GitHub is used as it is: {error}");
                None
            }
        }
    }
}

impl TokenExchange for CopilotExchange {
    fn token(&self, key: &SecretString, entry: &CredentialEntry) -> SecretString {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let now = SystemTime::now();
        if let Some(found) = known.get(key.expose())
            && now + BEFORE_END < found.until
        {
            return found.token.clone();
        }
        let found = self.fetch(key, entry).unwrap_or_else(|| KnownToken {
            token: key.clone(),
            until: now + UNSTATED,
        });
        known.insert(key.expose().to_owned(), found.clone());
        found.token
    }

    fn forget(&self, key: &SecretString) -> bool {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        known
            .remove(key.expose())
            .is_some_and(|known| known.token != *key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_of_the_api_follows_from_the_host() {
        for (host, api) in [
            (None, "https://api.github.com"),
            (Some(" "), "https://api.github.com"),
            (Some("github.com"), "https://api.github.com"),
            (Some("acme.ghe.com"), "https://api.acme.ghe.com"),
            (Some("git.acme.org/"), "https://git.acme.org/api/v3"),
            (Some("http://127.0.0.1:9"), "http://127.0.0.1:9"),
        ] {
            assert_eq!(CopilotHost::new(host).api(), api, "{host:?}");
        }
    }
}
