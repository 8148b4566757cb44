//! Logins that somebody else vouches for: an OpenID Connect provider of the user's choice, and the Nous
//! portal. Authorization code with PKCE; tokens are checked against the provider's published keys.

mod exchange;
mod failure;
mod keys;
mod renewals;
mod signed_token;

pub(crate) use failure::LoginFailure;

use std::sync::Mutex;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hermes_secret::SecretString;
use sha2::{Digest as _, Sha256};

use self::keys::CachedKeys;
use self::renewals::Renewals;
use super::web_address::WebAddress;

const NOUS_PORTAL: &str = "https://portal.nousresearch.com";
const NOUS_SCOPE: &str = "agent_dashboard:access";
const NOUS_CLIENT: &str = "agent:";
const OIDC_SCOPES: &str = "openid profile email";

/// A provider of logins.
#[derive(Debug)]
pub(crate) struct RemoteSettings {
    /// Its name in addresses and cookies.
    pub(crate) name: &'static str,
    /// Its name for people.
    pub(crate) label: &'static str,
    kind: Kind,
    /// Where tokens say they are from.
    issuer: String,
    client_id: String,
    pub(crate) client_secret: Option<SecretString>,
    scopes: String,
    keys: Mutex<Option<CachedKeys>>,
    renewals: Renewals,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Nous,
    Oidc,
}

impl RemoteSettings {
    /// The portal of Nous Research, for this instance.
    pub(crate) fn nous(client_id: &str, portal: Option<&str>) -> Result<Self, String> {
        if !client_id.starts_with(NOUS_CLIENT) || client_id.len() == NOUS_CLIENT.len() {
            let shown = hermes_text::shown(client_id, 80);
            return Err(format!(
                "the client id must be `agent:` and the id of the instance, not {shown}"
            ));
        }
        Self::new(
            ("nous", "Nous Research", Kind::Nous),
            portal.unwrap_or(NOUS_PORTAL),
            client_id,
            NOUS_SCOPE,
        )
    }

    /// An OpenID Connect provider.
    pub(crate) fn oidc(
        issuer: &str,
        client_id: &str,
        scopes: Option<&str>,
    ) -> Result<Self, String> {
        let scopes = scopes.unwrap_or(OIDC_SCOPES);
        if !scopes.split_whitespace().any(|scope| scope == "openid") {
            return Err("its scopes must include openid".to_owned());
        }
        let names = ("self-hosted", "Single sign-on", Kind::Oidc);
        Self::new(names, issuer, client_id, scopes)
    }

    /// Whether this is the provider's name for itself.
    pub(crate) fn is_issuer(&self, issuer: &str) -> bool {
        issuer.trim_end_matches('/') == self.issuer
    }

    fn new(
        (name, label, kind): (&'static str, &'static str, Kind),
        issuer: &str,
        client_id: &str,
        scopes: &str,
    ) -> Result<Self, String> {
        let shown = hermes_text::shown(issuer, 120);
        let address = WebAddress::parse(issuer)
            .ok_or_else(|| format!("{shown} is not an address of the web"))?;
        if !address.is_private() {
            return Err(format!("{shown} must begin with https://"));
        }
        Ok(Self {
            name,
            label,
            kind,
            issuer: issuer.trim().trim_end_matches('/').to_owned(),
            client_id: client_id.to_owned(),
            client_secret: None,
            scopes: scopes.to_owned(),
            keys: Mutex::new(None),
            renewals: Renewals::default(),
        })
    }
}

/// What a login on its way must bring back.
#[derive(Debug, Clone)]
pub(crate) struct PendingLogin {
    pub(crate) state: String,
    pub(crate) nonce: String,
    pub(crate) verifier: String,
}

impl PendingLogin {
    pub(crate) fn new() -> Self {
        Self {
            state: hermes_fs::random_hex(48),
            nonce: hermes_fs::random_hex(32),
            verifier: hermes_fs::random_hex(86),
        }
    }

    fn challenge(&self) -> String {
        URL_SAFE_NO_PAD.encode(Sha256::digest(self.verifier.as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn providers_that_cannot_be_trusted_are_refused() {
        assert!(RemoteSettings::nous("agent:abc", None).is_ok());
        for wrong in ["", "abc", "agent:", "user:abc"] {
            assert!(RemoteSettings::nous(wrong, None).is_err(), "{wrong}");
        }
        assert!(RemoteSettings::oidc("https://id.example/realm", "x", None).is_ok());
        assert!(RemoteSettings::oidc("http://127.0.0.1:9000", "x", None).is_ok());
        for wrong in ["http://id.example", "id.example", "ftp://id.example"] {
            assert!(RemoteSettings::oidc(wrong, "x", None).is_err(), "{wrong}");
        }
        assert!(RemoteSettings::oidc("https://id.example", "x", Some("profile")).is_err());
    }
}
