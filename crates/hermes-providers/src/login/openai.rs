//! OpenAI's login by code: the code is exchanged for another one, and that one for tokens.

use std::time::Duration;

use hermes_proc::Wake;
use serde_json::{Value, json};

use super::LoginError;
use super::code_request::{CodeRequest, DevicePrompt};
use super::poll::{IssuedCode, Pace, Polled};
use crate::pool::LoginTokens;

/// How long a code holds.
const LIFETIME: Duration = Duration::from_mins(15);
/// Seconds between questions if the server does not say.
const USUAL_INTERVAL: u64 = 5;

pub(super) fn log_in(
    request: &CodeRequest<'_>,
    interrupt: &Wake,
    show: &mut dyn FnMut(&DevicePrompt),
) -> Result<LoginTokens, LoginError> {
    let client = request.client;
    let body = json!({"client_id": request.client_id});
    let answer = client.post_json("/api/accounts/deviceauth/usercode", &body)?;
    let answer = client.accepted(answer)?;
    let code = client.text(&answer, "user_code", "a code")?;
    let device = client.text(&answer, "device_auth_id", "a device code")?;
    let issued = IssuedCode {
        prompt: DevicePrompt {
            page: format!("{}/codex/device", client.base),
            whole_page: None,
            code: code.to_owned(),
        },
        pace: Pace::new(Duration::from_secs(interval(&answer["interval"])), LIFETIME),
    };
    let body = json!({"device_auth_id": device, "user_code": code});
    let granted = issued.wait(
        client,
        (interrupt, show),
        || client.post_json("/api/accounts/deviceauth/token", &body),
        // Nobody has used the code yet.
        |answer| matches!(answer.status, 403 | 404).then_some(Ok(Polled::Again)),
    )?;
    let text = |key: &str| client.text(&granted, key, "an authorisation");
    let redirect = format!("{}/deviceauth/callback", client.base);
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", text("authorization_code")?),
        ("redirect_uri", redirect.as_str()),
        ("client_id", request.client_id),
        ("code_verifier", text("code_verifier")?),
    ];
    let answer = client.post_form("/oauth/token", &fields, Vec::new())?;
    client.tokens(&client.accepted(answer)?)
}

/// The server writes the number as text.
fn interval(value: &Value) -> u64 {
    let written = value.as_str().and_then(|text| text.trim().parse().ok());
    value.as_u64().or(written).unwrap_or(USUAL_INTERVAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn interval_may_be_a_number_or_text() {
        for (value, seconds) in [
            (json!("7"), 7),
            (json!(3), 3),
            (json!(null), 5),
            (json!("x"), 5),
        ] {
            assert_eq!(interval(&value), seconds, "{value}");
        }
    }
}
