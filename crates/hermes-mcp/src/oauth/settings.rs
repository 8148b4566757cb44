//! `oauth` in the settings of a server.

use std::time::Duration;

use hermes_providers::{ClientRequest, LoginConnection, RedirectAddress, ResourceLogin};
use hermes_secret::SecretString;

use crate::config::{Auth, RemoteConfig, ServerConfig, Transport, Verify};
use crate::fields::{ConfigError, Fields};

/// The name under which people are asked to let Hermes in.
const CLIENT_NAME: &str = "Hermes Agent";
/// How long a person may take in the browser.
const LOGIN_SECONDS: f64 = 300.0;
const MAX_LOGIN_SECONDS: f64 = 3600.0;

/// The address of a server that people log in to; `None` for any other.
pub(super) fn remote(server: &ServerConfig) -> Option<&RemoteConfig> {
    match &server.transport {
        Transport::Remote(remote) if remote.auth == Auth::OAuth => Some(remote),
        Transport::Remote(_) | Transport::Stdio(_) => None,
    }
}

/// How the settings of a server want its login.
pub(super) fn login(
    server: &ServerConfig,
    remote: &RemoteConfig,
) -> Result<ResourceLogin, ConfigError> {
    let whole = serde_json::json!({"oauth": remote.oauth});
    let fields = Fields::of_server(&server.name, &whole)?;
    let fields = fields.section("oauth")?;
    let text = |key: &str| -> Result<Option<String>, ConfigError> {
        let text = fields.text(key)?.map(str::trim);
        Ok(text.filter(|text| !text.is_empty()).map(str::to_owned))
    };
    let seconds = fields.seconds("timeout")?.unwrap_or(LOGIN_SECONDS);
    Ok(ResourceLogin {
        url: remote.url.clone(),
        client: ClientRequest {
            name: text("client_name")?.unwrap_or_else(|| CLIENT_NAME.to_owned()),
            id: text("client_id")?,
            secret: text("client_secret")?.map(SecretString::new),
            scope: text("scope")?,
        },
        redirect: RedirectAddress {
            uri: text("redirect_uri")?,
            host: text("redirect_host")?.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port: port(&fields)?,
        },
        connection: connection(remote),
        limit: Duration::from_secs_f64(seconds.clamp(1.0, MAX_LOGIN_SECONDS)),
    })
}

/// How the authorisation server of a server is reached.
pub(super) fn connection(remote: &RemoteConfig) -> LoginConnection {
    let usual = LoginConnection::default();
    match &remote.verify {
        Verify::Usual => usual,
        Verify::Off => LoginConnection {
            insecure: true,
            ..usual
        },
        Verify::Against(bundle) => LoginConnection {
            ca_bundle: Some(bundle.clone()),
            ..usual
        },
    }
}

fn port(fields: &Fields<'_>) -> Result<u16, ConfigError> {
    let Some(number) = fields.seconds("redirect_port")? else {
        return Ok(0);
    };
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a whole number within the bounds of a port"
    )]
    match number {
        number if number.fract() == 0.0 && number <= f64::from(u16::MAX) => Ok(number as u16),
        _ => Err(fields.error(
            "redirect_port",
            "expected a port from 1 to 65535, or 0 for any".to_owned(),
        )),
    }
}
