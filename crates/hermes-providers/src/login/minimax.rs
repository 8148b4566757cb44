//! MiniMax's login by code, which is of use only to who knows the verifier of its challenge.

use std::time::{Duration, Instant, SystemTime};

use hermes_proc::Wake;
use serde_json::Value;

use super::LoginError;
use super::client::{Answer, LoginClient};
use super::code_request::{CodeRequest, DevicePrompt};
use super::pkce::Pkce;
use super::poll::{Pace, Polled};
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
    let answer = client.post_form("/oauth/code", &fields, Vec::new())?;
    if answer.status != 200 {
        return Err(client.refused(&answer));
    }
    if answer.value["state"].as_str() != Some(&state) {
        return Err(client.incomplete("the state it was sent"));
    }
    let prompt = DevicePrompt::read(&answer.value, client)?;
    let expires = expiry(&answer.value).ok_or_else(|| client.incomplete("the time of its end"))?;
    let left = expires.duration_since(SystemTime::now());
    let interval = answer.value["interval"].as_u64().unwrap_or(USUAL_INTERVAL);
    let pace = Pace {
        interval: Duration::from_millis(interval),
        deadline: Instant::now() + left.unwrap_or_default(),
    };
    show(&prompt);
    let given = pace.poll(interrupt, || {
        let fields = [
            ("grant_type", GRANT),
            ("client_id", request.client_id),
            ("user_code", prompt.code.as_str()),
            ("code_verifier", pkce.verifier.as_str()),
        ];
        let answer = client.post_form("/oauth/token", &fields, Vec::new())?;
        match (answer.status, answer.value["status"].as_str()) {
            (200, Some("success")) => Ok(Polled::Done(answer.value)),
            (200, Some("error")) => Err(LoginError::Denied),
            (200, _) => Ok(Polled::Again),
            (429 | 500.., _) => Ok(Polled::Slower),
            _ => Err(client.refused(&answer)),
        }
    })?;
    tokens(&given).ok_or_else(|| client.incomplete("a token"))
}

/// The tokens of an answer, which also a renewal gives.
pub(super) fn renewed(answer: &Answer, client: &LoginClient) -> Result<LoginTokens, LoginError> {
    if answer.status != 200 || answer.value["status"] != "success" {
        return Err(client.refused(answer));
    }
    tokens(&answer.value).ok_or_else(|| client.incomplete("a token"))
}

fn tokens(answer: &Value) -> Option<LoginTokens> {
    let tokens = LoginTokens::read(answer)?;
    let expires_at = expiry(answer).unwrap_or(tokens.expires_at);
    Some(LoginTokens {
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
