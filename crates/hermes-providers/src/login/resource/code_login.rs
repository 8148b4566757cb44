//! A login with a code that the browser brings back (RFC 6749), of use only to who knows the verifier
//! of its challenge (RFC 7636).

use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use hermes_config::Config;
use hermes_proc::Wake;
use reqwest::Url;
use serde_json::Value;

use super::authorization_server::{AuthorizationServer, parsed, permitted};
use super::discovery::{is_issuer_at, same_issuer};
use super::registration::ClientRequest;
use super::token_request::TokenRequest;
use crate::login::pkce::Pkce;
use crate::login::redirect_listener::{AwaitedRedirect, Redirect, RedirectListener, TypedAddress};
use crate::login::{LoginConnection, LoginError};
use crate::route::{host_of, is_local};

/// The path that the browser is sent back to.
const PATH: &str = "/callback";

/// A login to a server that names its authorisation server.
#[derive(Debug, Clone)]
pub struct ResourceLogin {
    /// Address of the server.
    pub url: String,
    pub client: ClientRequest,
    pub redirect: RedirectAddress,
    pub connection: LoginConnection,
    /// How long the person may take in the browser.
    pub limit: Duration,
}

/// Where the browser is sent back to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedirectAddress {
    /// Another address, which leads to the port.
    pub uri: Option<String>,
    /// The name of this machine in the address.
    pub host: String,
    /// Any port if it is 0.
    pub port: u16,
}

/// What the person is told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoginStep<'a> {
    /// The page to open; the browser is then sent to this port.
    Page { page: &'a str, port: u16 },
    /// What was typed does not belong to this login.
    NotThisLogin,
}

/// What a login gives: documents to keep, with secrets in them.
pub struct ResourceGrant {
    pub server: AuthorizationServer,
    pub client: Value,
    pub tokens: Value,
}

impl ResourceLogin {
    /// Finds the authorisation server, registers, and waits for the browser to come back, or for its
    /// last address to be typed at `terminal`.
    pub fn run(
        &self,
        config: &Config,
        interrupt: &Wake,
        terminal: Option<BorrowedFd<'_>>,
        tell: &mut dyn FnMut(LoginStep<'_>),
    ) -> Result<ResourceGrant, LoginError> {
        let connection = &self.connection;
        let server = AuthorizationServer::discover(&self.url, config, connection)?;
        let listener = RedirectListener::open(&[self.redirect.port])?;
        let redirect_uri = self.redirect.address(listener.port());
        let client = self
            .client
            .resolve(&server, &redirect_uri, config, connection)?;
        let pkce = Pkce::new();
        let state = hermes_fs::random_hex(64);
        let page = self.page(&server, &client, &redirect_uri, (&pkce, &state))?;
        tell(LoginStep::Page {
            page: &page,
            port: listener.port(),
        });
        let own_path = parsed(&redirect_uri)?.path().to_owned();
        let awaited = AwaitedRedirect {
            paths: &[PATH, &own_path],
            state: Some(&state),
            interrupt,
            deadline: Instant::now() + self.limit,
        };
        let mut refused = || tell(LoginStep::NotThisLogin);
        let typed = terminal.map(|input| TypedAddress {
            input,
            refused: &mut refused,
        });
        let redirect = listener.wait(&awaited, typed)?;
        check_issuer(&server, &redirect)?;
        let request = TokenRequest {
            server: &server,
            client: &client,
            config,
            connection,
        };
        let tokens = request.exchange(&redirect.code, &pkce.verifier, &redirect_uri)?;
        Ok(ResourceGrant {
            server,
            client,
            tokens,
        })
    }

    /// The page of the authorisation server that asks the person.
    fn page(
        &self,
        server: &AuthorizationServer,
        client: &Value,
        redirect_uri: &str,
        (pkce, state): (&Pkce, &str),
    ) -> Result<String, LoginError> {
        let endpoint = server.text("authorization_endpoint").unwrap_or_default();
        let mut page = parsed(endpoint)?;
        permitted(&parsed(&self.url)?, &page)?;
        let is_safe = match page.scheme() {
            "https" => true,
            "http" => is_local(&host_of(endpoint)),
            _ => false,
        };
        if !is_safe {
            return Err(LoginError::Address(endpoint.to_owned()));
        }
        let id = client["client_id"].as_str().unwrap_or_default();
        page.query_pairs_mut()
            .append_pair("response_type", "code")
            .append_pair("client_id", id)
            .append_pair("redirect_uri", redirect_uri)
            .append_pair("state", state)
            .append_pair("code_challenge", &pkce.challenge)
            .append_pair("code_challenge_method", "S256")
            .append_pair("resource", &server.resource);
        if let Some(scope) = self.client.scope(server) {
            page.query_pairs_mut().append_pair("scope", scope);
        }
        Ok(Url::into(page))
    }
}

impl RedirectAddress {
    fn address(&self, port: u16) -> String {
        match &self.uri {
            Some(uri) => uri.clone(),
            None => format!("http://{}:{port}{PATH}", self.host),
        }
    }
}

/// The code has to come from the server that was asked (RFC 9207), as far as that is said.
fn check_issuer(server: &AuthorizationServer, redirect: &Redirect) -> Result<(), LoginError> {
    let is_promised =
        server.document["authorization_response_iss_parameter_supported"] == Value::Bool(true);
    let expected = server.text("issuer");
    let is_right = match (&redirect.issuer, expected) {
        (Some(issuer), Some(expected)) => same_issuer(issuer, expected),
        // A server that says nothing of itself is the resource's own.
        (Some(issuer), None) => is_issuer_at(issuer, &parsed(&server.resource)?),
        (None, _) => !is_promised,
    };
    if is_right {
        return Ok(());
    }
    let asked = expected.unwrap_or(&server.resource);
    Err(LoginError::WrongIssuer(host_of(asked)))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::json;

    use super::*;

    #[test]
    fn codes_count_that_come_from_the_server_that_was_asked() {
        let url = "https://a.example/mcp";
        let with = |document: Option<Value>| AuthorizationServer::kept(document, url).unwrap();
        let promising = json!({
            "issuer": "https://login.example",
            "authorization_response_iss_parameter_supported": true,
        });
        let quiet = json!({"issuer": "https://login.example"});
        for (document, issuer, expected) in [
            (Some(&promising), Some("https://login.example/"), true),
            (Some(&promising), Some("https://other.example"), false),
            (Some(&promising), None, false),
            (Some(&quiet), None, true),
            (Some(&quiet), Some("https://other.example"), false),
            (None, None, true),
            (None, Some("https://a.example"), true),
            (None, Some("https://other.example"), false),
        ] {
            let redirect = Redirect {
                code: "c".to_owned(),
                issuer: issuer.map(str::to_owned),
            };
            let checked = check_issuer(&with(document.cloned()), &redirect);
            assert_eq!(checked.is_ok(), expected, "{document:?} {issuer:?}");
        }
    }
}
