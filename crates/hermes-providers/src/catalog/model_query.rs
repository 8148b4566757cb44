//! Asks a provider for its models, with a key that need not be stored yet.

use std::time::Duration;

use hermes_config::Config;
use hermes_http::HttpSettings;
use hermes_secret::SecretString;

use crate::context::{ListedModel, ModelServer, ServerRefusal};
use crate::http::Transport;
use crate::setup::{OpenError, QueryRoute};

/// A question for the models of a provider.
#[derive(Debug, Clone, Copy)]
pub struct ModelQuery<'a> {
    /// A built-in provider, `custom`, or a name of the settings.
    pub provider: &'a str,
    /// Address instead of the provider's own.
    pub base_url: Option<&'a str>,
    /// Key instead of the stored ones.
    pub key: Option<&'a SecretString>,
    pub timeout: Duration,
}

/// Why there is no list of models.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    #[error(transparent)]
    Open(#[from] OpenError),
    #[error("{}", refused_text(host, refusal))]
    Refused {
        host: String,
        refusal: ServerRefusal,
        /// Whether a proxy stands between here and the server.
        has_proxy: bool,
    },
}

impl ModelQuery<'_> {
    /// Asks, within the timeout. A server without such a list gives an empty one.
    pub fn fetch(&self, config: &Config) -> Result<Vec<ListedModel>, QueryError> {
        let found = QueryRoute {
            provider: self.provider,
            base_url: self.base_url,
            key: self.key,
        }
        .resolve(config)?;
        let settings = HttpSettings::resolve(config);
        let proxy = if found.route.base_url.starts_with("https:") {
            &settings.https_proxy
        } else {
            &settings.http_proxy
        };
        let has_proxy = proxy.is_some() && !found.route.is_local();
        let transport = Transport::new(settings);
        let lease = found.keys.lease();
        let server = ModelServer {
            transport: &transport,
            route: &found.route,
            key: lease.as_ref().map(|lease| &lease.secret),
            timeout: self.timeout,
        };
        match server.list() {
            Ok(models) => Ok(models),
            // Not every server has such a list.
            Err(ServerRefusal::Status {
                status: 404 | 405, ..
            }) => Ok(Vec::new()),
            Err(refusal) => Err(QueryError::Refused {
                host: found.route.host.clone(),
                refusal,
                has_proxy,
            }),
        }
    }
}

impl QueryError {
    /// Whether another key may help.
    pub fn is_about_key(&self) -> bool {
        matches!(
            self,
            Self::Refused {
                refusal: ServerRefusal::Status {
                    status: 400..=403,
                    ..
                },
                ..
            }
        )
    }

    /// Whether the server or the way to it is at fault, not what was asked.
    pub fn is_outside(&self) -> bool {
        matches!(self, Self::Refused { .. }) && !self.is_about_key()
    }

    /// What the user can do.
    pub fn hint(&self) -> String {
        let Self::Refused {
            refusal, has_proxy, ..
        } = self
        else {
            let Self::Open(error) = self else {
                return String::new();
            };
            return error.hint();
        };
        match refusal {
            ServerRefusal::Status { status: 402, .. } => {
                "add credit to the account, or use another key".to_owned()
            }
            ServerRefusal::Status {
                status: 400..=403, ..
            } => "copy the key again from the provider's website, whole and without spaces"
                .to_owned(),
            ServerRefusal::Status { status: 407, .. } => {
                "put user name and password of the proxy into HTTPS_PROXY".to_owned()
            }
            ServerRefusal::Status { .. } => "try again in a minute".to_owned(),
            ServerRefusal::NotJson => {
                "a proxy or a login page of the network may be in between".to_owned()
            }
            ServerRefusal::Unreachable(_) if *has_proxy => {
                "a proxy is set in HTTPS_PROXY, HTTP_PROXY or ALL_PROXY; check that it is right"
                    .to_owned()
            }
            ServerRefusal::Unreachable(_) => {
                "check the network; behind a proxy, set HTTPS_PROXY".to_owned()
            }
        }
    }
}

fn refused_text(host: &str, refusal: &ServerRefusal) -> String {
    match refusal {
        ServerRefusal::Status { status, message } => {
            let is_expired = message.to_ascii_lowercase().contains("expired");
            let what = match status {
                400..=401 if is_expired => "says that the key has expired",
                401 => "rejected the key",
                402 => "accepts the key, but the account has no credit",
                403 => "does not allow this key here",
                407 => "is behind a proxy that asks for a password",
                429 => "is limiting requests",
                500.. => "has a problem of its own",
                _ => "refused the request",
            };
            let said = if message.is_empty() {
                String::new()
            } else {
                format!(": {message}")
            };
            format!("{host} {what} (HTTP {status}){said}")
        }
        ServerRefusal::NotJson => format!("{host} answers with a page instead of a list of models"),
        ServerRefusal::Unreachable(reason) => format!("{host} cannot be reached: {reason}"),
    }
}
