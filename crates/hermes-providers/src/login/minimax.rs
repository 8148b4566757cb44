//! MiniMax's login by code, which is of use only to who knows the verifier of its challenge.

use std::time::{Duration, SystemTime};

use hermes_proc::Wake;
use serde_json::Value;

use super::LoginError;
use super::client::{Answer, LoginClient};
use super::code_request::{CodeRequest, DevicePrompt};
use super::pkce::Pkce;
use super::poll::{IssuedCode, Pace, Polled};
use crate::pool::LoginTokens;

const GRANT: &str = "urn:ietf:params:oauth:grant-type:user_code";
/// Milliseconds between questions if the server does not say.
const USUAL_INTERVAL: u64 = 2_000;

pub(super) fn log_in(
    request: &CodeRequest<'_>,
    interrupt: &Wake,
    show: &mut dyn FnMut(&DevicePrompt),
) -> Result<LoginTokens, LoginError> {
    let client = request.client;
    let pkce = Pkce::new();
    let state = hermes_fs::random_hex(32);
    let fields = [
        ("response_type", "code"),
        ("client_id", request.client_id),
        ("scope", request.scope),
        ("code_challenge", pkce.challenge.as_str()),
        ("code_challenge_method", "S256"),
        ("state", state.as_str()),
    ];
    let answer = client.accepted(client.post_form("/oauth/code", &fields, Vec::new())?)?;
    if answer["state"].as_str() != Some(&state) {
        return Err(client.incomplete("the state it was sent"));
    }
    let expires = expiry(&answer).ok_or_else(|| client.incomplete("the time of its end"))?;
    let left = expires.duration_since(SystemTime::now());
    let interval = answer["interval"].as_u64().unwrap_or(USUAL_INTERVAL);
    let issued = IssuedCode {
        prompt: DevicePrompt::read(&answer, client)?,
        pace: Pace::new(Duration::from_millis(interval), left.unwrap_or_default()),
    };
    let fields = [
        ("grant_type", GRANT),
        ("client_id", request.client_id),
        ("user_code", issued.prompt.code.as_str()),
        ("code_verifier", pkce.verifier.as_str()),
    ];
    let given = issued.wait(
        client,
        (interrupt, show),
        || client.post_form("/oauth/token", &fields, Vec::new()),
        |answer| match (answer.status, answer.value["status"].as_str()) {
            (200, Some("error")) => Some(Err(LoginError::Denied)),
            (200, status) if status != Some("success") => Some(Ok(Polled::Again)),
            _ => None,
        },
    )?;
    tokens(&given, client)
}

/// The tokens of an answer, which also a renewal gives.
pub(super) fn renewed(answer: &Answer, client: &LoginClient) -> Result<LoginTokens, LoginError> {
    if answer.status != 200 || answer.value["status"] != "success" {
        return Err(client.refused(answer));
    }
    tokens(&answer.value, client)
}

fn tokens(answer: &Value, client: &LoginClient) -> Result<LoginTokens, LoginError> {
    let tokens = client.tokens(answer)?;
    let expires_at = expiry(answer).unwrap_or(tokens.expires_at);
    Ok(LoginTokens {
        expires_at,
        ..tokens
    })
}

/// `expired_in`: a time in milliseconds since 1970, or seconds from now.
fn expiry(answer: &Value) -> Option<SystemTime> {
    let number = answer["expired_in"].as_u64()?;
    let now = SystemTime::now();
    let since = now.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    if u128::from(number) > since.as_millis() / 2 {
        SystemTime::UNIX_EPOCH.checked_add(Duration::from_millis(number))
    } else {
        now.checked_add(Duration::from_secs(number))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn end_is_a_time_or_a_span() {
        let left = |number: u64| {
            let at = expiry(&json!({"expired_in": number})).unwrap();
            at.duration_since(SystemTime::now())
                .map_or(0, |left| left.as_secs())
        };
        assert!((898..=900).contains(&left(900)));
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        let later = u64::try_from(now.as_millis()).unwrap() + 60_000;
        assert!((58..=60).contains(&left(later)));
        assert_eq!(expiry(&json!({})), None);
    }
}
