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
    pub(crate) fn read(answer: &Value) -> Option<Self> {
        let text = |key: &str| answer[key].as_str().filter(|text| !text.is_empty());
        let lifetime = answer["expires_in"]
            .as_u64()
            .map_or(UNSTATED, Duration::from_secs);
        Some(Self {
            access: SecretString::from(text("access_token")?),
            refresh: text("refresh_token").map(SecretString::from),
            expires_at: SystemTime::now() + lifetime,
            scope: text("scope").map(str::to_owned),
        })
    }
}
