//! The login that Qwen Code keeps in the home of the person. It is used where it is: a copy would be
//! void as soon as either program renews it.

use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_config::{Config, vars};
use hermes_fs::{FileLock, LockOptions};
use hermes_secret::SecretString;
use serde_json::{Map, Value, json};

use super::LoginConnection;
use super::client::LoginClient;
use super::renewal::{error, read};
use crate::pool::{AuthFile, CredentialEntry, RefreshError};

/// Largest file that is read.
const MAX_BYTES: u64 = 1 << 20;

const SERVER: &str = "https://chat.qwen.ai";
const TOKENS: &str = "/api/v1/oauth2/token";
const CLIENT: &str = "f0304373b74a44d2b584a3fb70ca9e56";

/// The login of Qwen Code on this machine.
pub struct QwenLogin {
    path: PathBuf,
    fields: Map<String, Value>,
}

impl QwenLogin {
    pub const PROVIDER: &'static str = "qwen-oauth";
    /// The source of such an entry, as the Python runtime names it.
    pub(crate) const SOURCE: &'static str = "qwen-cli";

    /// Reads the login; `None` if there is none, or none that can be used.
    pub fn find(config: &Config) -> Option<Self> {
        let home = config.sources().env.text(&vars::HOME)?;
        let path = PathBuf::from(home).join(".qwen/oauth_creds.json");
        let bytes = match hermes_fs::read_optional(&path, MAX_BYTES) {
            Ok(bytes) => bytes?,
            Err(error) => {
                tracing::warn!("the login of Qwen Code cannot be read: {error}");
                return None;
            }
        };
        let Ok(Value::Object(fields)) = serde_json::from_slice(&bytes) else {
            tracing::warn!("{} is not a JSON object", path.display());
            return None;
        };
        let found = Self { path, fields };
        found.text("access_token").is_some().then_some(found)
    }

    /// The file of the login.
    pub fn path(&self) -> &std::path::Path {
        &self.path
    }

    fn text(&self, key: &str) -> Option<&str> {
        let text = self.fields.get(key)?.as_str()?.trim();
        (!text.is_empty()).then_some(text)
    }

    /// The entry of the login, for an API at this address.
    pub(crate) fn entry(&self, base_url: &str) -> CredentialEntry {
        let expires = self.fields.get("expiry_date").and_then(Value::as_u64);
        let expires = expires.and_then(|ms| UNIX_EPOCH.checked_add(Duration::from_millis(ms)));
        // An entry without an end would never be renewed.
        let expires = expires.unwrap_or(UNIX_EPOCH);
        let token = SecretString::from(self.text("access_token").unwrap_or_default());
        CredentialEntry::kept_elsewhere(Self::SOURCE, "Qwen Code", &token, expires)
            .bound_to(Some(base_url))
    }

    /// The entry with a token that has not expired: the one that Qwen Code has got meanwhile, or a new
    /// one, which it gets as well.
    pub(crate) fn renew(
        config: &Config,
        stale: &CredentialEntry,
    ) -> Result<CredentialEntry, RefreshError> {
        let file = AuthFile::of_home(&config.sources().home);
        let lock = file.path().with_file_name("auth.lock");
        let _held = FileLock::acquire(&lock, &LockOptions::new("auth.json"))
            .map_err(|error| RefreshError::passing(error.to_string()))?;
        let gone = || RefreshError {
            reason: "the login of Qwen Code is gone".to_owned(),
            is_final: true,
        };
        let mut login = Self::find(config).ok_or_else(gone)?;
        let base_url = stale.base_url().unwrap_or_default();
        let kept = login.entry(base_url);
        if kept.secret() != stale.secret() && !kept.is_expiring(SystemTime::now()) {
            return Ok(kept);
        }
        let server = file.login_text(Self::PROVIDER, "portal_base_url");
        let server = server.unwrap_or_else(|| SERVER.to_owned());
        let client =
            LoginClient::new(config, &LoginConnection::default(), &server).map_err(error)?;
        let token = login.text("refresh_token").ok_or_else(gone)?;
        let fields = [
            ("grant_type", "refresh_token"),
            ("refresh_token", token),
            ("client_id", CLIENT),
        ];
        let answer = client
            .post_form(TOKENS, &fields, Vec::new())
            .map_err(error)?;
        let tokens = read(&answer, &client)?;
        login
            .fields
            .insert("access_token".to_owned(), json!(tokens.access.expose()));
        if let Some(refresh) = &tokens.refresh {
            login
                .fields
                .insert("refresh_token".to_owned(), json!(refresh.expose()));
        }
        login.fields.insert(
            "expiry_date".to_owned(),
            json!(milliseconds(tokens.expires_at)),
        );
        for key in ["token_type", "resource_url"] {
            if let Some(value) = answer.value[key].as_str() {
                login.fields.insert(key.to_owned(), json!(value));
            }
        }
        let mut text = serde_json::to_vec_pretty(&login.fields).unwrap_or_default();
        text.push(b'\n');
        hermes_fs::write_atomic_exact(&login.path, &text, 0o600)
            .map_err(|error| RefreshError::passing(error.to_string()))?;
        Ok(login.entry(base_url))
    }
}

fn milliseconds(at: SystemTime) -> u64 {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
