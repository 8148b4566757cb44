//! Requests for tokens: with the code of a login, or with the token for a renewal.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hermes_config::Config;
use serde_json::{Value, json};

use super::authorization_server::AuthorizationServer;
use crate::login::client::{Answer, LoginClient};
use crate::login::renewal::{error, judged};
use crate::login::{LoginConnection, LoginError};
use crate::pool::RefreshError;

/// Who asks which server.
pub(super) struct TokenRequest<'a> {
    pub(super) server: &'a AuthorizationServer,
    /// The client as it is kept.
    pub(super) client: &'a Value,
    pub(super) config: &'a Config,
    pub(super) connection: &'a LoginConnection,
}

impl TokenRequest<'_> {
    fn send(&self, grant: &[(&str, &str)]) -> Result<(Answer, LoginClient), LoginError> {
        let (host, path) = self
            .server
            .client("token_endpoint", self.config, self.connection)?;
        let id = self.client["client_id"].as_str().unwrap_or_default();
        let secret = self.client["client_secret"].as_str().unwrap_or_default();
        let mut fields = grant.to_vec();
        fields.push(("resource", &self.server.resource));
        let mut headers = Vec::new();
        match self.client["token_endpoint_auth_method"].as_str() {
            Some("client_secret_basic") if !secret.is_empty() => {
                let pair = format!("{}:{}", escaped(id), escaped(secret));
                headers.push(("authorization", format!("Basic {}", STANDARD.encode(pair))));
            }
            _ => {
                fields.push(("client_id", id));
                if !secret.is_empty() {
                    fields.push(("client_secret", secret));
                }
            }
        }
        let mut answer = host.post_form(&path, &fields, headers)?;
        // A server may repeat what it refuses.
        for secret in grant.iter().filter(|(name, _)| SECRETS.contains(name)) {
            answer.hide(secret.1);
        }
        if !secret.is_empty() {
            answer.hide(secret);
        }
        Ok((answer, host))
    }

    /// The tokens for a code.
    pub(super) fn exchange(
        &self,
        code: &str,
        verifier: &str,
        redirect_uri: &str,
    ) -> Result<Value, LoginError> {
        let (answer, host) = self.send(&[
            ("grant_type", "authorization_code"),
            ("code", code),
            ("redirect_uri", redirect_uri),
            ("code_verifier", verifier),
        ])?;
        let tokens = host.accepted(answer)?;
        host.text(&tokens, "access_token", "a token")?;
        Ok(tokens)
    }
}

/// Fields of a request whose values nobody is shown.
const SECRETS: [&str; 3] = ["code", "code_verifier", "refresh_token"];

/// New tokens for those of a login. The document that comes back holds the token for the next renewal,
/// also where the server has not sent one.
pub fn renewed_tokens(
    server: &AuthorizationServer,
    client: &Value,
    refresh_token: &str,
    config: &Config,
    connection: &LoginConnection,
) -> Result<Value, RefreshError> {
    let request = TokenRequest {
        server,
        client,
        config,
        connection,
    };
    let (answer, host) = request
        .send(&[
            ("grant_type", "refresh_token"),
            ("refresh_token", refresh_token),
        ])
        .map_err(error)?;
    let has_token = answer.value["access_token"].is_string();
    if answer.status != 200 || !has_token {
        return Err(judged(&answer, &host.refused(&answer)));
    }
    let mut tokens = answer.value;
    if !tokens["refresh_token"].is_string() {
        tokens["refresh_token"] = json!(refresh_token);
    }
    Ok(tokens)
}

/// A part of basic credentials, as RFC 6749 wants it.
fn escaped(text: &str) -> String {
    let pair = crate::login::client::form(&[("", text)]);
    pair.trim_start_matches('=').to_owned()
}
