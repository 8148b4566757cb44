//! What a token says about itself. Nothing is checked: the server that takes the token does that.

use std::time::{Duration, SystemTime};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The claims of a token; `None` if it is not of the kind that has any.
fn claims(token: &str) -> Option<Value> {
    let middle = token.split('.').nth(1)?;
    let bytes = URL_SAFE_NO_PAD.decode(middle.trim_end_matches('=')).ok()?;
    serde_json::from_slice(&bytes).ok()
}

fn text(value: &Value) -> Option<String> {
    let text = value.as_str()?.trim();
    let is_plain = !text.is_empty() && !text.chars().any(char::is_control);
    is_plain.then(|| text.to_owned())
}

/// When a token ends.
pub(crate) fn expiry(token: &str) -> Option<SystemTime> {
    let seconds = claims(token)?["exp"].as_f64()?;
    let since = Duration::try_from_secs_f64(seconds).ok()?;
    SystemTime::UNIX_EPOCH.checked_add(since)
}

/// The account at OpenAI that a token is for.
pub(crate) fn chatgpt_account(token: &str) -> Option<String> {
    let claims = claims(token)?;
    let account = text(&claims["https://api.openai.com/auth"]["chatgpt_account_id"])?;
    account.is_ascii().then_some(account)
}

/// Whose token it is.
pub(crate) fn subject(token: &str) -> Option<String> {
    let claims = claims(token)?;
    text(&claims["https://api.openai.com/auth"]["chatgpt_account_id"])
        .or_else(|| text(&claims["sub"]))
}

/// The name by which its owner knows the account.
pub(crate) fn account_name(token: &str) -> Option<String> {
    let claims = claims(token)?;
    text(&claims["https://api.openai.com/profile"]["email"])
        .or_else(|| text(&claims["email"]))
        .or_else(|| text(&claims["preferred_username"]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn token(claims: &Value) -> String {
        format!("e30.{}.x", URL_SAFE_NO_PAD.encode(claims.to_string()))
    }

    #[test]
    fn claims_are_read_and_nonsense_has_none() {
        let full = token(&json!({
            "exp": 1_900_000_000, "sub": "s", "email": "a@b.example",
            "https://api.openai.com/auth": {"chatgpt_account_id": "acc-1"},
        }));
        let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_900_000_000);
        assert_eq!(expiry(&full), Some(at));
        assert_eq!(chatgpt_account(&full).as_deref(), Some("acc-1"));
        assert_eq!(subject(&full).as_deref(), Some("acc-1"));
        assert_eq!(account_name(&full).as_deref(), Some("a@b.example"));
        let bad = token(&json!({
            "exp": "soon", "https://api.openai.com/auth": {"chatgpt_account_id": "a\r\nx: y"},
        }));
        assert_eq!(expiry(&bad), None);
        assert_eq!(chatgpt_account(&bad), None);
        for none in ["", "x", "a.b.c", "a..c", "a.e30.c"] {
            assert_eq!(expiry(none), None, "{none}");
            assert_eq!(subject(none), None, "{none}");
        }
    }
}
