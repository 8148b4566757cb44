//! One key in `auth.json`. Unknown fields are kept: the reference writes more of them.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use hermes_secret::SecretString;
use serde_json::{Map, Value, json};

use super::login_tokens::LoginTokens;
use crate::error::{ErrorClass, ProviderFailure};
use crate::token_claims;

/// How long a key is not used if no reset time was stated: after a rejected key, and otherwise.
const COOL_DOWN_AFTER_REJECTION: Duration = Duration::from_mins(5);
const COOL_DOWN: Duration = Duration::from_hours(1);

/// A token that expires within this time is renewed before it is used.
const REFRESH_BEFORE: Duration = Duration::from_mins(2);

/// Sources of a login that the Python runtime keeps under `providers` as well, where its tokens are
/// the newer ones.
const MIRRORED: [&str; 2] = ["device_code", "oauth"];

/// The server of a login.
#[derive(Debug, Clone)]
pub struct LoginPortal {
    /// The source of its logins.
    pub source: &'static str,
    /// Address of the server, if it is not the provider's own.
    pub url: Option<String>,
    /// The client, if it is not the usual one.
    pub client_id: Option<String>,
    /// Address of the API that the tokens are for.
    pub inference_url: Option<String>,
    /// Whether its certificate is not checked.
    pub insecure: bool,
}

/// Whether a key can be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CredentialStatus {
    Usable,
    /// Not usable before a time.
    Exhausted {
        until: SystemTime,
    },
}

/// A key in `auth.json`, or the record of a key stored elsewhere.
#[derive(Clone, Default)]
pub struct CredentialEntry(Map<String, Value>);

impl std::fmt::Debug for CredentialEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CredentialEntry")
            .field("id", &self.id())
            .field("source", &self.source())
            .finish_non_exhaustive()
    }
}

impl CredentialEntry {
    /// A key added by the user.
    pub fn manual(id: String, label: &str, secret: &SecretString, priority: i64) -> Self {
        let mut entry = Self::record(id, label, "manual", priority);
        entry.set("access_token", json!(secret.expose()));
        entry
    }

    /// The key restricted to one address.
    #[must_use]
    pub fn bound_to(mut self, base_url: Option<&str>) -> Self {
        if let Some(url) = base_url {
            self.set("base_url", json!(url));
        }
        self
    }

    /// The record of a key stored elsewhere: everything but the key.
    pub fn record(id: String, label: &str, source: &str, priority: i64) -> Self {
        let mut entry = Self::default();
        entry.set("id", json!(id));
        entry.set("label", json!(label));
        entry.set("auth_type", json!("api_key"));
        entry.set("priority", json!(priority));
        entry.set("source", json!(source));
        entry.reset();
        entry.set("request_count", json!(0));
        entry
    }

    /// A login: tokens that expire, and where new ones come from.
    pub fn login(id: String, label: &str, tokens: &LoginTokens, portal: &LoginPortal) -> Self {
        let mut entry = Self::record(id, label, portal.source, 0);
        entry.set("auth_type", json!("oauth"));
        if let Some(url) = &portal.url {
            entry.set("portal_base_url", json!(url));
        }
        if let Some(client_id) = &portal.client_id {
            entry.set("client_id", json!(client_id));
        }
        entry.set(
            "tls",
            json!({"insecure": portal.insecure, "ca_bundle": null}),
        );
        entry.set("token_type", json!("Bearer"));
        if let Some(url) = &portal.inference_url {
            entry.set("base_url", json!(url));
        }
        entry.renew(tokens);
        entry
    }

    /// A login whose token has no end: a key that nobody had to type.
    pub fn lasting_login(
        id: String,
        label: &str,
        token: &SecretString,
        portal: &LoginPortal,
    ) -> Self {
        let mut entry = Self::record(id, label, portal.source, 0);
        entry.set("access_token", json!(token.expose()));
        if let Some(url) = &portal.url {
            entry.set("portal_base_url", json!(url));
        }
        if portal.insecure {
            entry.set("tls", json!({"insecure": true, "ca_bundle": null}));
        }
        entry.bound_to(portal.inference_url.as_deref())
    }

    /// A login that another program keeps.
    pub(crate) fn kept_elsewhere(
        source: &str,
        label: &str,
        token: &SecretString,
        expires_at: SystemTime,
    ) -> Self {
        let mut entry = Self::record("000000".to_owned(), label, source, 0);
        entry.set("auth_type", json!("oauth"));
        entry.set("access_token", json!(token.expose()));
        entry.set("expires_at", iso(expires_at));
        entry
    }

    /// Whether the login is kept under `providers` as well.
    pub(super) fn is_mirrored(&self) -> bool {
        MIRRORED.contains(&self.source())
    }

    /// Takes the tokens of a login as the Python runtime keeps it under `providers`: in a map of their
    /// own, or among the other fields. Gives whether there are any.
    pub(super) fn mirror(&mut self, state: &Value) -> bool {
        let tokens = match &state["tokens"] {
            Value::Null => state,
            tokens => tokens,
        };
        let Some(token) = tokens["access_token"]
            .as_str()
            .filter(|text| !text.is_empty())
        else {
            return false;
        };
        if token == self.text("access_token") {
            return true;
        }
        self.set("auth_type", json!("oauth"));
        self.set("access_token", json!(token));
        for (holder, key) in [
            (tokens, "refresh_token"),
            (state, "expires_at"),
            (state, "last_refresh"),
            (state, "portal_base_url"),
            (state, "client_id"),
        ] {
            match &holder[key] {
                Value::Null => drop(self.0.remove(key)),
                value => self.set(key, value.clone()),
            }
        }
        if let Some(url) = state["inference_base_url"].as_str() {
            self.set("base_url", json!(url.trim_end_matches('/')));
        }
        // The end of the former token.
        self.0.remove("expires_at_ms");
        self.reset();
        true
    }

    /// Writes the tokens where the Python runtime keeps them, if the former ones are there.
    pub(super) fn write_mirror(&self, state: &mut Value, former: Option<&SecretString>) {
        let is_nested = state["tokens"].is_object();
        let holder = if is_nested {
            &mut state["tokens"]
        } else {
            &mut *state
        };
        let is_same = holder["access_token"].as_str() == former.map(SecretString::expose);
        if !is_same || former.is_none() {
            return;
        }
        for key in ["access_token", "refresh_token"] {
            holder[key] = json!(self.text(key));
        }
        let now = iso(SystemTime::now());
        if is_nested {
            state["last_refresh"] = now;
        } else {
            state["expires_at"] = self.0.get("expires_at").cloned().unwrap_or_default();
            state["obtained_at"] = now;
        }
    }

    /// Whether two logins are of the same account.
    pub(super) fn is_same_account(&self, other: &Self) -> bool {
        let subject = |entry: &Self| token_claims::subject(entry.text("access_token"));
        subject(self).is_some_and(|own| Some(own) == subject(other))
    }

    /// Whether two entries are keys of the same server, of which the newer one is the one to use.
    pub(super) fn is_same_key(&self, other: &Self) -> bool {
        let are_keys = self.auth_type() == "api_key" && other.auth_type() == "api_key";
        are_keys && self.portal_url() == other.portal_url()
    }

    /// Replaces the tokens of a login.
    pub(super) fn renew(&mut self, tokens: &LoginTokens) {
        self.set("access_token", json!(tokens.access.expose()));
        if let Some(token) = &tokens.refresh {
            self.set("refresh_token", json!(token.expose()));
        }
        if let Some(scope) = &tokens.scope {
            self.set("scope", json!(scope));
        }
        self.set("expires_at", iso(tokens.expires_at));
        self.set("last_refresh", iso(SystemTime::now()));
        self.0.remove("expires_at_ms");
        self.reset();
    }

    /// Whether this is a login whose token has expired or is about to.
    pub(crate) fn is_expiring(&self, now: SystemTime) -> bool {
        let stated = self.0.get("expires_at").and_then(moment).or_else(|| {
            let at = self.0.get("expires_at_ms")?.as_f64()?;
            moment(&json!(at / 1000.0))
        });
        let expires = stated.or_else(|| token_claims::expiry(self.text("access_token")));
        self.auth_type() == "oauth" && expires.is_some_and(|at| at <= now + REFRESH_BEFORE)
    }

    /// The token that new ones are asked for with.
    pub(super) fn refresh_token(&self) -> Option<SecretString> {
        let token = self.text("refresh_token");
        (!token.is_empty()).then(|| SecretString::new(token))
    }

    /// The server that issued the tokens of a login.
    pub(crate) fn portal_url(&self) -> Option<&str> {
        Some(self.text("portal_base_url")).filter(|url| !url.is_empty())
    }

    /// The client that logged in.
    pub(crate) fn client_id(&self) -> Option<&str> {
        Some(self.text("client_id")).filter(|id| !id.is_empty())
    }

    /// Whether the login was made without checking certificates.
    pub(crate) fn trusts_any_certificate(&self) -> bool {
        let tls = self.0.get("tls");
        tls.and_then(|tls| tls["insecure"].as_bool())
            .unwrap_or(false)
    }

    pub(super) fn from_value(value: &Value) -> Option<Self> {
        let entry = Self(value.as_object()?.clone());
        (!entry.id().is_empty()).then_some(entry)
    }

    pub(super) fn to_value(&self) -> Value {
        Value::Object(self.0.clone())
    }

    /// Six hexadecimal digits.
    pub fn id(&self) -> &str {
        self.text("id")
    }

    /// The label given by the user.
    pub fn label(&self) -> &str {
        self.text("label")
    }

    /// The source of the key: `manual`, `env:NAME`, ….
    pub fn source(&self) -> &str {
        self.text("source")
    }

    /// `api_key` or `oauth`.
    pub fn auth_type(&self) -> &str {
        match self.text("auth_type") {
            "" => "api_key",
            other => other,
        }
    }

    /// Smaller numbers come first.
    pub fn priority(&self) -> i64 {
        self.0.get("priority").and_then(Value::as_i64).unwrap_or(0)
    }

    /// The only address the key is for, if restricted.
    pub fn base_url(&self) -> Option<&str> {
        Some(self.text("base_url")).filter(|url| !url.is_empty())
    }

    /// The key, unless stored elsewhere.
    pub fn secret(&self) -> Option<SecretString> {
        let token = self.text("access_token").trim();
        super::is_usable_secret(token).then(|| SecretString::new(token))
    }

    /// Number of requests with this key.
    pub fn request_count(&self) -> u64 {
        self.0
            .get("request_count")
            .and_then(Value::as_u64)
            .unwrap_or(0)
    }

    /// The message of the last error.
    pub fn last_error(&self) -> &str {
        self.text("last_error_message")
    }

    /// The class of the last error.
    pub fn last_error_reason(&self) -> &str {
        self.text("last_error_reason")
    }

    /// Whether the key can be used at `now`.
    pub fn status(&self, now: SystemTime) -> CredentialStatus {
        if self.text("last_status") != "exhausted" {
            return CredentialStatus::Usable;
        }
        let at = |key: &str| self.0.get(key).and_then(moment);
        let until = at("last_error_reset_at").or_else(|| {
            let refused = self.0.get("last_error_code").and_then(Value::as_u64) == Some(401);
            let cool_down = if refused {
                COOL_DOWN_AFTER_REJECTION
            } else {
                COOL_DOWN
            };
            at("last_status_at")?.checked_add(cool_down)
        });
        match until {
            Some(until) if until > now => CredentialStatus::Exhausted { until },
            _ => CredentialStatus::Usable,
        }
    }

    pub(super) fn exhaust(&mut self, failure: &ProviderFailure, now: SystemTime) {
        self.set("last_status", json!("exhausted"));
        self.set("last_status_at", json!(seconds(now)));
        let code = failure.status.or(match failure.class {
            ErrorClass::Auth => Some(401),
            ErrorClass::Billing => Some(402),
            ErrorClass::RateLimit => Some(429),
            _ => None,
        });
        self.set("last_error_code", json!(code));
        self.set("last_error_reason", json!(failure.class.name()));
        self.set("last_error_message", json!(failure.message));
        self.set("last_error_reset_at", json!(failure.reset_at.map(seconds)));
    }

    /// Clears the last error.
    pub fn reset(&mut self) {
        for key in [
            "last_status",
            "last_status_at",
            "last_error_code",
            "last_error_reason",
            "last_error_message",
            "last_error_reset_at",
        ] {
            self.set(key, Value::Null);
        }
    }

    /// Whether an error is recorded.
    pub fn is_marked(&self) -> bool {
        !self.text("last_status").is_empty() && self.text("last_status") != "ok"
    }

    pub(super) fn count_request(&mut self) {
        let count = self.request_count().saturating_add(1);
        self.set("request_count", json!(count));
    }

    fn text(&self, key: &str) -> &str {
        self.0.get(key).and_then(Value::as_str).unwrap_or_default()
    }

    fn set(&mut self, key: &str, value: Value) {
        self.0.insert(key.to_owned(), value);
    }
}

/// A time in ISO form.
fn iso(at: SystemTime) -> Value {
    // Whole seconds: not every reader takes nanoseconds.
    let at = jiff::Timestamp::try_from(at).ok();
    let at = at.and_then(|at| jiff::Timestamp::from_second(at.as_second()).ok());
    json!(at.map(|at| at.to_string()))
}

/// Seconds since 1970, as the reference writes times.
fn seconds(at: SystemTime) -> f64 {
    at.duration_since(UNIX_EPOCH)
        .map_or(0.0, |since| since.as_secs_f64())
}

/// A time as a number, or as text in ISO form.
fn moment(value: &Value) -> Option<SystemTime> {
    if let Some(seconds) = value.as_f64() {
        let since = Duration::try_from_secs_f64(seconds).ok()?;
        return UNIX_EPOCH.checked_add(since);
    }
    let at: jiff::Timestamp = value.as_str()?.parse().ok()?;
    Some(SystemTime::from(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(class: ErrorClass, status: u16) -> (CredentialEntry, SystemTime) {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut entry = CredentialEntry::record("abc123".to_owned(), "a", "env:X", 0);
        let failure = ProviderFailure {
            status: Some(status),
            ..ProviderFailure::new(class, "no")
        };
        entry.exhaust(&failure, now);
        (entry, now)
    }

    #[test]
    fn exhausted_key_becomes_usable_again() {
        let (refused, now) = after(ErrorClass::Auth, 401);
        let until = now + COOL_DOWN_AFTER_REJECTION;
        assert_eq!(refused.status(now), CredentialStatus::Exhausted { until });
        assert_eq!(refused.status(until), CredentialStatus::Usable);
        let (limited, now) = after(ErrorClass::RateLimit, 429);
        assert_eq!(
            limited.status(now),
            CredentialStatus::Exhausted {
                until: now + COOL_DOWN
            }
        );
        let mut fresh = limited;
        fresh.reset();
        assert_eq!(fresh.status(now), CredentialStatus::Usable);
    }

    #[test]
    fn stated_reset_time_wins() {
        let now = UNIX_EPOCH + Duration::from_secs(1_700_000_000);
        let mut entry = CredentialEntry::record("abc123".to_owned(), "a", "env:X", 0);
        let until = now + Duration::from_secs(30);
        let failure = ProviderFailure {
            reset_at: Some(until),
            ..ProviderFailure::new(ErrorClass::RateLimit, "no")
        };
        entry.exhaust(&failure, now);
        assert_eq!(entry.status(now), CredentialStatus::Exhausted { until });
    }

    #[test]
    fn debug_output_contains_no_key() {
        let secret = SecretString::new("sk-very-secret-value");
        let entry = CredentialEntry::manual("abc123".to_owned(), "mine", &secret, 0);
        assert!(!format!("{entry:?}").contains("very-secret"));
        assert_eq!(entry.secret(), Some(secret));
    }
}
