//! The client that logs in: registered by whoever runs the server, or registering itself (RFC 7591).

use hermes_config::Config;
use serde_json::{Value, json};

use super::authorization_server::AuthorizationServer;
use crate::login::{LoginConnection, LoginError};
use crate::route::host_of;

/// What the settings say of the client.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClientRequest {
    /// The name that people are shown.
    pub name: String,
    /// The client that was registered by hand; `None` to register one.
    pub id: Option<String>,
    pub secret: Option<hermes_secret::SecretString>,
    pub scope: Option<String>,
}

impl ClientRequest {
    /// The client, as it is kept.
    pub(super) fn resolve(
        &self,
        server: &AuthorizationServer,
        redirect_uri: &str,
        config: &Config,
        connection: &LoginConnection,
    ) -> Result<Value, LoginError> {
        let mut client = json!({
            "redirect_uris": [redirect_uri],
            "token_endpoint_auth_method": self.method(server),
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
            "client_name": self.name,
        });
        if let Some(scope) = self.scope(server) {
            client["scope"] = json!(scope);
        }
        if let Some(id) = &self.id {
            client["client_id"] = json!(id);
            if let Some(secret) = &self.secret {
                client["client_secret"] = json!(secret.expose());
            }
            return Ok(client);
        }
        if server.text("registration_endpoint").is_none() {
            let host = host_of(server.text("token_endpoint").unwrap_or_default());
            return Err(LoginError::NoRegistration(host));
        }
        let (host, path) = server.client("registration_endpoint", config, connection)?;
        let answer = host.post_json(&path, &client)?;
        if !matches!(answer.status, 200 | 201) {
            return Err(host.refused(&answer));
        }
        host.text(&answer.value, "client_id", "a client id")?;
        // The server may have changed what it was asked for.
        for (key, value) in answer.value.as_object().into_iter().flatten() {
            if !value.is_null() {
                client[key] = value.clone();
            }
        }
        // Some servers give a public client an empty secret.
        if client["client_secret"] == "" {
            client["client_secret"].take();
        }
        if let Some(fields) = client.as_object_mut() {
            fields.retain(|_, value| !value.is_null());
        }
        Ok(client)
    }

    /// What is asked for: what the settings say, else what the resource wants.
    pub(super) fn scope<'a>(&'a self, server: &'a AuthorizationServer) -> Option<&'a str> {
        self.scope.as_deref().or(server.scope.as_deref())
    }

    /// How the client proves itself: not at all if the server takes that, since a secret that every
    /// copy of a program has is none.
    fn method(&self, server: &AuthorizationServer) -> &'static str {
        let takes = |method| server.lists("token_endpoint_auth_methods_supported", method);
        match (&self.id, &self.secret) {
            (Some(_), Some(_)) if takes("client_secret_post") == Some(false) => {
                "client_secret_basic"
            }
            (Some(_), Some(_)) => "client_secret_post",
            (Some(_), None) => "none",
            (None, _) if takes("none") != Some(false) => "none",
            (None, _) if takes("client_secret_post") == Some(true) => "client_secret_post",
            (None, _) => "client_secret_basic",
        }
    }
}
