//! The steps of a login: where the browser is sent, what its code is exchanged for, and how a session
//! is renewed.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_http::HttpSettings;
use hermes_secret::SecretString;
use reqwest::Response;
use serde_json::Value;

use super::failure::LoginFailure;
use super::keys::{Published, client, read_json};
use super::signed_token::{Expected, key_id, verified};
use super::{Kind, PendingLogin, RemoteSettings};
use crate::gate::sessions::Identity;

/// The version of the portal's contract that is spoken here.
const NOUS_CONTRACT: i64 = 1;

/// Who logged in, and what a renewal is got with.
#[derive(Debug, Clone)]
pub(crate) struct Refreshed {
    pub(crate) identity: Identity,
    pub(crate) refresh_token: Option<SecretString>,
}

impl RemoteSettings {
    /// Where the browser goes to log in.
    pub(crate) async fn authorize_url(
        &self,
        http: &HttpSettings,
        pending: &PendingLogin,
        redirect: &str,
    ) -> Result<String, LoginFailure> {
        let published = self.published(http, None).await?;
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("response_type", "code")
            .append_pair("client_id", &self.client_id)
            .append_pair("redirect_uri", redirect)
            .append_pair("scope", &self.scopes)
            .append_pair("state", &pending.state)
            .append_pair("code_challenge", &pending.challenge())
            .append_pair("code_challenge_method", "S256");
        if self.kind == Kind::Oidc {
            query.append_pair("nonce", &pending.nonce);
        }
        let separator = if published.authorize.contains('?') {
            '&'
        } else {
            '?'
        };
        Ok(format!(
            "{}{separator}{}",
            published.authorize,
            query.finish()
        ))
    }

    /// Exchanges the code that the browser brought back.
    pub(crate) async fn complete(
        &self,
        http: &HttpSettings,
        pending: &PendingLogin,
        (code, redirect): (&str, &str),
    ) -> Result<Refreshed, LoginFailure> {
        let form = [
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect),
            ("code_verifier", pending.verifier.as_str()),
        ];
        let answer = self.ask_token(http, &form).await?;
        self.identify(http, &answer, Some(&pending.nonce)).await
    }

    /// Renews a session. Requests of one moment that carry the same token share what it is renewed to.
    pub(crate) async fn renew(
        &self,
        http: &HttpSettings,
        refresh_token: &str,
    ) -> Result<Refreshed, LoginFailure> {
        let renewal = self.renew_once(http, refresh_token);
        self.renewals.share(refresh_token, renewal).await
    }

    async fn renew_once(
        &self,
        http: &HttpSettings,
        refresh_token: &str,
    ) -> Result<Refreshed, LoginFailure> {
        let form = [
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
            ("scope", self.scopes.as_str()),
        ];
        let answer = self.ask_token(http, &form).await?;
        let mut renewed = self.identify(http, &answer, None).await?;
        if renewed.refresh_token.is_none() {
            renewed.refresh_token = Some(SecretString::new(refresh_token));
        }
        Ok(renewed)
    }

    /// Refuses a refresh token here from now on.
    pub(crate) fn end_session(&self, refresh_token: &str) {
        self.renewals.end(refresh_token);
    }

    /// Gives a refresh token back to the provider, where it takes them back (RFC 7009).
    pub(crate) async fn revoke(
        &self,
        http: &HttpSettings,
        refresh_token: &str,
    ) -> Result<(), LoginFailure> {
        let published = self.published(http, None).await?;
        let Some(address) = &published.revoke else {
            return Ok(());
        };
        let form = [
            ("token", refresh_token),
            ("token_type_hint", "refresh_token"),
        ];
        let response = self.post(http, &published, (address, &form)).await?;
        match response.status() {
            status if status.is_success() => Ok(()),
            status => Err(LoginFailure::Refused(format!("{address}: {status}"))),
        }
    }

    /// Posts a form in the name of this client.
    async fn post(
        &self,
        http: &HttpSettings,
        published: &Published,
        (address, form): (&str, &[(&str, &str)]),
    ) -> Result<Response, LoginFailure> {
        let mut request = client(http, address)?
            .post(address)
            .header("content-type", "application/x-www-form-urlencoded")
            .header("accept", "application/json")
            .body(self.form(published, form));
        let refresh = form.iter().find(|(name, _)| *name == "refresh_token");
        if let (Kind::Nous, Some((_, token))) = (self.kind, refresh) {
            // The portal compares it with the form.
            request = request.header("x-nous-refresh-token", *token);
        }
        let secret = self.client_secret.as_ref();
        if let Some(secret) = secret.filter(|_| !published.wants_secret_in_form) {
            let header = basic(&self.client_id, secret.expose());
            request = request.header("authorization", header);
        }
        request.send().await.map_err(|error| {
            let cause = hermes_http::root_cause(error);
            LoginFailure::Unreachable(format!("{address}: {cause}"))
        })
    }

    fn form(&self, published: &Published, form: &[(&str, &str)]) -> String {
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(form);
        body.append_pair("client_id", &self.client_id);
        let secret = self.client_secret.as_ref();
        if let Some(secret) = secret.filter(|_| published.wants_secret_in_form) {
            body.append_pair("client_secret", secret.expose());
        }
        body.finish()
    }

    async fn ask_token(
        &self,
        http: &HttpSettings,
        form: &[(&str, &str)],
    ) -> Result<Value, LoginFailure> {
        let published = self.published(http, None).await?;
        let address = &published.token;
        let response = self.post(http, &published, (address, form)).await?;
        let status = response.status();
        if status.is_success() {
            return read_json(response, address).await;
        }
        if status.is_server_error() {
            return Err(LoginFailure::Unreachable(format!("{address}: {status}")));
        }
        let reason = read_json(response, address).await.unwrap_or_default();
        let reason = reason["error"].as_str().unwrap_or("no reason given");
        Err(LoginFailure::Refused(hermes_text::shown(reason, 120)))
    }

    /// Who the tokens are about.
    async fn identify(
        &self,
        http: &HttpSettings,
        answer: &Value,
        nonce: Option<&str>,
    ) -> Result<Refreshed, LoginFailure> {
        let refused = |reason: &str| LoginFailure::Refused(reason.to_owned());
        let name = match self.kind {
            Kind::Nous => "access_token",
            Kind::Oidc => "id_token",
        };
        let token = answer[name]
            .as_str()
            .ok_or_else(|| LoginFailure::Unusable(format!("its answer has no {name}")))?;
        let key = key_id(token);
        let published = self.published(http, key.as_deref()).await?;
        let expected = Expected {
            issuer: &self.issuer,
            audience: &self.client_id,
            now: jiff::Timestamp::now().as_second(),
        };
        let claims = verified(token, &published.keys, expected).map_err(refused)?;
        match self.kind {
            Kind::Nous => self.check_instance(&claims)?,
            Kind::Oidc => {
                if nonce.is_some_and(|nonce| claims["nonce"] != nonce) {
                    return Err(refused("its token belongs to another login"));
                }
            }
        }
        let text = |name: &str| claims[name].as_str().unwrap_or_default().to_owned();
        let user_id = text("sub");
        if user_id.is_empty() {
            return Err(refused("its token names nobody"));
        }
        let names = ["name", "preferred_username", "email", "sub"];
        let display = names
            .iter()
            .map(|name| text(name))
            .find(|name| !name.is_empty());
        #[expect(clippy::cast_possible_truncation, reason = "seconds since 1970")]
        let expires_at = claims["exp"].as_f64().unwrap_or_default() as i64;
        let refresh = answer["refresh_token"].as_str();
        Ok(Refreshed {
            identity: Identity {
                user_id,
                email: text("email"),
                display_name: display.unwrap_or_default(),
                org_id: text("org_id"),
                provider: self.name.to_owned(),
                expires_at,
            },
            refresh_token: refresh.map(SecretString::new),
        })
    }

    /// Whether a token of the portal is for this instance.
    fn check_instance(&self, claims: &Value) -> Result<(), LoginFailure> {
        let own = self.client_id.strip_prefix(super::NOUS_CLIENT);
        let named = claims["agent_instance_id"].as_str();
        if named.is_some() && named != own {
            let reason = "its token is for another instance".to_owned();
            return Err(LoginFailure::Refused(reason));
        }
        let contract = claims["oauth_contract_version"].as_i64();
        if contract.is_some_and(|version| version != NOUS_CONTRACT) {
            let reason = "the portal speaks another version of its contract".to_owned();
            return Err(LoginFailure::Unusable(reason));
        }
        Ok(())
    }
}

/// The header of a client with a secret (RFC 6749, 2.3.1).
fn basic(client: &str, secret: &str) -> String {
    let encoded = |text: &str| form_urlencoded::byte_serialize(text.as_bytes()).collect::<String>();
    let pair = format!("{}:{}", encoded(client), encoded(secret));
    format!("Basic {}", STANDARD.encode(pair))
}
