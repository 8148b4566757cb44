//! Addresses and keys of a provider: fetched when a login needs them, kept for five minutes.

use std::sync::PoisonError;
use std::time::{Duration, Instant};

use hermes_http::{BodyError, HttpSettings, Scheme};
use reqwest::{Client, Response};
use serde_json::Value;

use super::failure::LoginFailure;
use super::signed_token::{PublicKey, has_key};
use super::{Kind, RemoteSettings};
use crate::gate::WebAddress;

/// How long addresses and keys are kept.
const LIFETIME: Duration = Duration::from_mins(5);
/// How long a provider may take to answer.
const TIME_LIMIT: Duration = Duration::from_secs(10);
/// Largest answer.
const MAX_BYTES: usize = 1 << 20;

/// What a provider has published.
#[derive(Debug, Clone)]
pub(super) struct Published {
    pub(super) authorize: String,
    pub(super) token: String,
    /// Where a refresh token is given back.
    pub(super) revoke: Option<String>,
    /// Whether the secret of a client belongs into the form instead of a header.
    pub(super) wants_secret_in_form: bool,
    pub(super) keys: Vec<PublicKey>,
}

#[derive(Debug)]
pub(super) struct CachedKeys {
    published: Published,
    at: Instant,
}

impl RemoteSettings {
    /// What the provider has published; fetched again if none of its keys is the one wanted.
    pub(super) async fn published(
        &self,
        http: &HttpSettings,
        wanted_key: Option<&str>,
    ) -> Result<Published, LoginFailure> {
        if let Some(known) = self.cached(wanted_key) {
            return Ok(known);
        }
        let published = match self.kind {
            Kind::Nous => Published {
                authorize: format!("{}/oauth/authorize", self.issuer),
                token: format!("{}/api/oauth/token", self.issuer),
                // The portal has none: its sessions end by themselves.
                revoke: None,
                wants_secret_in_form: true,
                keys: self
                    .fetch_keys(http, &format!("{}/.well-known/jwks.json", self.issuer))
                    .await?,
            },
            Kind::Oidc => self.discover(http).await?,
        };
        let mut cache = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        *cache = Some(CachedKeys {
            published: published.clone(),
            at: Instant::now(),
        });
        Ok(published)
    }

    fn cached(&self, wanted_key: Option<&str>) -> Option<Published> {
        let cache = self.keys.lock().unwrap_or_else(PoisonError::into_inner);
        let cached = cache
            .as_ref()
            .filter(|cached| cached.at.elapsed() < LIFETIME)?;
        let is_enough = wanted_key.is_none_or(|id| has_key(&cached.published.keys, id));
        is_enough.then(|| cached.published.clone())
    }

    async fn discover(&self, http: &HttpSettings) -> Result<Published, LoginFailure> {
        let address = format!("{}/.well-known/openid-configuration", self.issuer);
        let document = get_json(http, &address).await?;
        let issuer = document["issuer"].as_str().unwrap_or_default();
        if issuer.trim_end_matches('/') != self.issuer {
            let shown = hermes_text::shown(issuer, 120);
            return Err(LoginFailure::Unusable(format!(
                "{address} is about another issuer, {shown}"
            )));
        }
        let endpoint = |name: &str| {
            let text = document[name].as_str().unwrap_or_default();
            let parsed = WebAddress::parse(text.split('?').next().unwrap_or_default());
            match parsed {
                Some(parsed) if parsed.is_private() => Ok(text.to_owned()),
                _ => Err(LoginFailure::Unusable(format!(
                    "{address} has no usable {name}"
                ))),
            }
        };
        let methods = document["token_endpoint_auth_methods_supported"].as_array();
        let has_method =
            |name: &str| methods.is_some_and(|methods| methods.iter().any(|method| method == name));
        Ok(Published {
            authorize: endpoint("authorization_endpoint")?,
            token: endpoint("token_endpoint")?,
            revoke: endpoint("revocation_endpoint").ok(),
            wants_secret_in_form: has_method("client_secret_post")
                && !has_method("client_secret_basic"),
            keys: self.fetch_keys(http, &endpoint("jwks_uri")?).await?,
        })
    }

    async fn fetch_keys(
        &self,
        http: &HttpSettings,
        address: &str,
    ) -> Result<Vec<PublicKey>, LoginFailure> {
        let document = get_json(http, address).await?;
        let entries = document["keys"].as_array();
        let keys: Vec<PublicKey> = entries
            .into_iter()
            .flatten()
            .filter_map(PublicKey::read)
            .collect();
        if keys.is_empty() {
            let message = format!("{address} has no key of a known kind");
            return Err(LoginFailure::Unusable(message));
        }
        Ok(keys)
    }
}

/// A client for an address.
pub(super) fn client(http: &HttpSettings, address: &str) -> Result<Client, LoginFailure> {
    let scheme = if address.starts_with("https:") {
        Scheme::Encrypted
    } else {
        Scheme::Plain
    };
    let builder = http
        .builder(scheme)
        .and_then(|builder| http.with_proxies(builder))
        .map_err(LoginFailure::Unusable)?;
    let built = builder.timeout(TIME_LIMIT).build();
    built.map_err(|error| LoginFailure::Unusable(hermes_http::root_cause(error)))
}

async fn get_json(http: &HttpSettings, address: &str) -> Result<Value, LoginFailure> {
    let unreachable = |error: reqwest::Error| {
        LoginFailure::Unreachable(format!("{address}: {}", hermes_http::root_cause(error)))
    };
    let response = client(http, address)?
        .get(address)
        .send()
        .await
        .map_err(unreachable)?;
    if !response.status().is_success() {
        let status = response.status();
        return Err(LoginFailure::Unreachable(format!("{address}: {status}")));
    }
    read_json(response, address).await
}

/// The body of an answer, up to a size.
pub(super) async fn read_json(response: Response, address: &str) -> Result<Value, LoginFailure> {
    let bytes = hermes_http::read_body(response, MAX_BYTES).await;
    let bytes = bytes.map_err(|error| match error {
        BodyError::TooLong => {
            LoginFailure::Unusable(format!("the answer of {address} is too long"))
        }
        BodyError::Broken(why) => LoginFailure::Unreachable(format!("{address}: {why}")),
    })?;
    serde_json::from_slice(&bytes)
        .map_err(|_| LoginFailure::Unusable(format!("the answer of {address} is not JSON")))
}
