//! What a login gives.

use std::time::{Duration, SystemTime};

use hermes_secret::SecretString;
use serde_json::Value;

/// Lifetime of a token whose lifetime is not stated.
const UNSTATED: Duration = Duration::from_hours(1);

/// The tokens of a login.
#[derive(Debug, Clone)]
pub struct LoginTokens {
    pub access: SecretString,
    /// For a new access token when this one has expired.
    pub refresh: Option<SecretString>,
    pub expires_at: SystemTime,
    pub scope: Option<String>,
}

impl LoginTokens {
    /// The name by which its owner knows the account, if the token says it.
    pub fn account_name(&self) -> Option<String> {
        crate::token_claims::account_name(self.access.expose())
    }

    pub(crate) fn read(answer: &Value) -> Option<Self> {
        let text = |key: &str| answer[key].as_str().filter(|text| !text.is_empty());
        let lifetime = answer["expires_in"].as_u64().map(Duration::from_secs);
        let token = text("access_token")?;
        let stated = lifetime.map(|lifetime| SystemTime::now() + lifetime);
        let expires_at = stated.or_else(|| crate::token_claims::expiry(token));
        Some(Self {
            access: SecretString::from(token),
            refresh: text("refresh_token").map(SecretString::from),
            expires_at: expires_at.unwrap_or_else(|| SystemTime::now() + UNSTATED),
            scope: text("scope").map(str::to_owned),
        })
    }
}
