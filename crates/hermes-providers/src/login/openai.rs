//! OpenAI's login by code: the code is exchanged for another one, and that one for tokens.

use std::time::{Duration, Instant};

use hermes_proc::Wake;
use serde_json::{Value, json};

use super::LoginError;
use super::code_request::{CodeRequest, DevicePrompt};
use super::poll::{Pace, Polled};
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
    if answer.status != 200 {
        return Err(client.refused(&answer));
    }
    let text = |key: &str| {
        let found = answer.value[key].as_str().filter(|text| !text.is_empty());
        found.map(str::to_owned)
    };
    let code = text("user_code").ok_or_else(|| client.incomplete("a code"))?;
    let device = text("device_auth_id").ok_or_else(|| client.incomplete("a device code"))?;
    show(&DevicePrompt {
        page: format!("{}/codex/device", client.base),
        whole_page: None,
        code: code.clone(),
    });
    let pace = Pace {
        interval: Duration::from_secs(interval(&answer.value["interval"])),
        deadline: Instant::now() + LIFETIME,
    };
    let body = json!({"device_auth_id": device, "user_code": code});
    let granted = pace.poll(interrupt, || {
        let answer = client.post_json("/api/accounts/deviceauth/token", &body)?;
        match answer.status {
            200 => Ok(Polled::Done(answer.value)),
            // Nobody has used the code yet.
            403 | 404 => Ok(Polled::Again),
            429 | 500.. => Ok(Polled::Slower),
            _ => Err(client.refused(&answer)),
        }
    })?;
    let text = |key: &str| granted[key].as_str().filter(|text| !text.is_empty());
    let missing = || client.incomplete("an authorisation");
    let redirect = format!("{}/deviceauth/callback", client.base);
    let fields = [
        ("grant_type", "authorization_code"),
        ("code", text("authorization_code").ok_or_else(missing)?),
        ("redirect_uri", redirect.as_str()),
        ("client_id", request.client_id),
        ("code_verifier", text("code_verifier").ok_or_else(missing)?),
    ];
    let answer = client.post_form("/oauth/token", &fields, Vec::new())?;
    if answer.status != 200 {
        return Err(client.refused(&answer));
    }
    LoginTokens::read(&answer.value).ok_or_else(|| client.incomplete("a token"))
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
