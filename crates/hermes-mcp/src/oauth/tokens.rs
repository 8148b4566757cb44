//! The tokens of a server: the one that is kept, or another when that one has ended.
//!
//! Several processes use one login, and a token for renewals may be good for one renewal only. So a
//! renewal happens under a lock, and whoever gets the lock first looks whether another has been faster.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use hermes_config::Config;
use hermes_providers::{AuthorizationServer, LoginConnection, RefreshError, renewed_tokens};
use hermes_secret::SecretString;
use serde_json::json;

use super::settings;
use super::token_files::{KeptTokens, TokenFiles};
use crate::config::ServerConfig;
use crate::token_source::{NeedsLogin, TokenFuture, TokenSource};

/// A token that ends so soon is renewed before it is used.
const MARGIN: Duration = Duration::from_secs(30);

/// The tokens of one server.
pub struct OAuthTokens(Arc<Shared>);

struct Shared {
    url: String,
    connection: LoginConnection,
    /// The client that the settings name.
    client_id: Option<String>,
    config: Config,
    files: TokenFiles,
    /// The token for renewals that the server does not take any more.
    rejected: Mutex<Option<String>>,
}

impl OAuthTokens {
    /// The tokens of a server of this profile; `None` if nobody logs in to it.
    pub fn of_server(server: &ServerConfig, config: &Config) -> Option<Self> {
        let remote = settings::remote(server)?;
        let client_id = remote.oauth["client_id"].as_str();
        Some(Self(Arc::new(Shared {
            url: remote.url.clone(),
            connection: settings::connection(remote),
            client_id: client_id.map(str::to_owned),
            config: config.clone(),
            files: TokenFiles::of_server(&config.sources().home, &server.name),
            rejected: Mutex::new(None),
        })))
    }
}

impl TokenSource for OAuthTokens {
    fn bearer(&self) -> TokenFuture<'_, Option<SecretString>> {
        let shared = Arc::clone(&self.0);
        Box::pin(async move { blocking(move || shared.current()).await.flatten() })
    }

    fn refused<'a>(
        &'a self,
        token: Option<&'a SecretString>,
    ) -> TokenFuture<'a, Result<(), NeedsLogin>> {
        let shared = Arc::clone(&self.0);
        let token = token.cloned();
        Box::pin(async move {
            let renewed = blocking(move || shared.after_refusal(token.as_ref())).await;
            renewed.unwrap_or_else(|| Err(NeedsLogin("its token could not be renewed".to_owned())))
        })
    }
}

/// Runs what waits for files and the network beside the thread of the connections.
async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> Option<T> {
    // Fails when the program ends, and when `work` panics, which the log has.
    tokio::task::spawn_blocking(work).await.ok()
}

impl Shared {
    /// The token for the next request.
    fn current(&self) -> Option<SecretString> {
        let kept = self.files.tokens()?;
        if !is_ending(&kept) || kept.refresh.is_none() {
            return Some(SecretString::new(kept.access));
        }
        match self.renew(&kept.access) {
            Ok(renewed) => Some(SecretString::new(renewed.access)),
            Err(error) => {
                tracing::info!(
                    reason = error.reason,
                    "the token of an MCP server was not renewed"
                );
                // It may hold a little longer; if not, the server says so.
                Some(SecretString::new(kept.access))
            }
        }
    }

    /// Whether there is another token than the one that the server has refused.
    fn after_refusal(&self, token: Option<&SecretString>) -> Result<(), NeedsLogin> {
        let Some(kept) = self.files.tokens() else {
            return Err(NeedsLogin(String::new()));
        };
        if token.is_none_or(|token| token.expose() != kept.access) {
            return Ok(());
        }
        match self.renew(&kept.access) {
            Ok(_) => Ok(()),
            Err(error) => Err(NeedsLogin(error.reason)),
        }
    }

    /// Tokens that are newer than this one.
    fn renew(&self, stale: &str) -> Result<KeptTokens, RefreshError> {
        let failed = |error: hermes_fs::Error| passing(error.to_string());
        let _held = self.files.lock().map_err(failed)?;
        let kept = self
            .files
            .tokens()
            .ok_or_else(|| ended("the login is gone"))?;
        if kept.access != stale && !is_ending(&kept) {
            return Ok(kept);
        }
        let refresh = kept.refresh.ok_or_else(|| ended("the login has expired"))?;
        if self.rejected().as_deref() == Some(refresh.as_str()) {
            return Err(ended("the server has ended the login"));
        }
        let client = match (self.files.client(), &self.client_id) {
            (Some(client), _) => client,
            (None, Some(id)) => json!({"client_id": id}),
            (None, None) => return Err(ended("the client that logged in is not known any more")),
        };
        let server = self.server()?;
        let answer = renewed_tokens(&server, &client, &refresh, &self.config, &self.connection);
        if answer.as_ref().is_err_and(|error| error.is_final) {
            *self.rejected() = Some(refresh);
        }
        self.files.keep_tokens(&answer?).map_err(failed)?;
        self.files
            .tokens()
            .ok_or_else(|| ended("the login is gone"))
    }

    /// The authorisation server: as it is kept, or asked for again.
    fn server(&self) -> Result<AuthorizationServer, RefreshError> {
        let failed = |error: hermes_providers::LoginError| passing(error.to_string());
        let kept = self.files.server();
        if kept.is_some() {
            return AuthorizationServer::kept(kept, &self.url).map_err(failed);
        }
        let found = AuthorizationServer::discover(&self.url, &self.config, &self.connection)
            .map_err(failed)?;
        if let Some(document) = found.to_keep() {
            let keeping = self.files.keep_server(&document);
            keeping.map_err(|error| passing(error.to_string()))?;
        }
        Ok(found)
    }

    fn rejected(&self) -> std::sync::MutexGuard<'_, Option<String>> {
        self.rejected.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_ending(tokens: &KeptTokens) -> bool {
    let soon = SystemTime::now() + MARGIN;
    tokens.expires_at.is_some_and(|end| end <= soon)
}

fn ended(reason: &str) -> RefreshError {
    RefreshError {
        reason: reason.to_owned(),
        is_final: true,
    }
}

fn passing(reason: String) -> RefreshError {
    RefreshError {
        reason,
        is_final: false,
    }
}
