//! `/api/providers/oauth`: logins to model providers. Those with a code are begun and watched here; the
//! others are logins of other programs, for which a command is named.

use hermes_providers::{AuthFile, LOGIN_SERVERS, LoginServer, QwenLogin, login_server};
use serde_json::{Value, json};

use super::model::keyed;
use crate::call::{Answered, Call};
use crate::http::ApiError;
use crate::provider_logins::{LIFETIME, LoginState};

/// Providers whose logins another program or this machine's browser does.
const ELSEWHERE: [&str; 2] = ["openrouter", QwenLogin::PROVIDER];
/// Seconds between two looks of a page.
const POLL_SECONDS: u64 = 2;

fn command(provider: &str) -> String {
    format!("hermes login --provider {provider}")
}

/// Whether a login needs nothing but a code: GitHub knows no client of ours.
fn by_code(provider: &str) -> Option<&'static LoginServer> {
    login_server(provider).filter(|server| !server.client_id.is_empty())
}

/// `GET /api/providers/oauth`.
pub(crate) fn list(call: &Call) -> Answered {
    let context = call.context();
    let has_key = keyed(&context)?;
    let servers = LOGIN_SERVERS.iter().map(|server| server.provider);
    let rows: Vec<Value> = servers
        .chain(ELSEWHERE)
        .map(|provider| {
            let flow = match by_code(provider) {
                Some(_) => "device_code",
                None => "external",
            };
            json!({
                "id": provider,
                "name": provider,
                "flow": flow,
                "cli_command": command(provider),
                "docs_url": "",
                "status": {"logged_in": has_key(provider)},
            })
        })
        .collect();
    call.answer(json!({ "providers": rows }))
}

fn known(provider: &str) -> Result<(), ApiError> {
    if login_server(provider).is_some() || ELSEWHERE.contains(&provider) {
        return Ok(());
    }
    let shown = hermes_text::shown(provider, 80);
    Err(ApiError::bad_request(format!("{shown} has no login here")))
}

/// `POST /api/providers/oauth/{provider_id}/start`.
pub(crate) fn start(call: &Call) -> Answered {
    let provider = call.param("provider_id");
    known(provider)?;
    let Some(server) = by_code(provider) else {
        let command = command(provider);
        let message = format!("this login is done with a command: `{command}`");
        return Err(ApiError::bad_request(message));
    };
    let (id, prompt) = call.app.provider_logins.begin(&call.context(), server)?;
    let page = prompt.whole_page.as_ref().unwrap_or(&prompt.page);
    call.answer(json!({
        "session_id": id,
        "flow": "device_code",
        "user_code": prompt.code,
        "verification_url": page,
        "expires_in": LIFETIME.as_secs(),
        "poll_interval": POLL_SECONDS,
    }))
}

/// `POST /api/providers/oauth/{provider_id}/submit`: no login of this program ends with a code that is
/// brought back.
pub(crate) fn submit(call: &Call) -> Answered {
    let provider = call.param("provider_id");
    known(provider)?;
    call.required_text("session_id")?;
    call.required_text("code")?;
    Err(ApiError::bad_request(
        "the code of this login is typed on the page of the provider, not here",
    ))
}

/// `GET /api/providers/oauth/{provider_id}/poll/{session_id}`.
pub(crate) fn poll(call: &Call) -> Answered {
    let id = call.param("session_id");
    let Some(login) = call.app.provider_logins.get(id) else {
        let message = "there is no such login, or its time is over";
        return Err(ApiError::not_found(message));
    };
    if login.provider != call.param("provider_id") {
        let message = format!("this login is one of {}", login.provider);
        return Err(ApiError::bad_request(message));
    }
    let state = login.state();
    let reason = match &state {
        LoginState::Failed(reason) => Some(reason.clone()),
        _ => None,
    };
    call.answer(json!({
        "session_id": id,
        "status": state.name(),
        "error_message": reason,
        "expires_at": login.expires_at,
    }))
}

/// `DELETE /api/providers/oauth/sessions/{session_id}`.
pub(crate) fn cancel(call: &Call) -> Answered {
    let id = call.param("session_id");
    if call.app.provider_logins.cancel(id) {
        return call.answer(json!({"ok": true, "session_id": id}));
    }
    call.answer(json!({"ok": false, "message": "there is no such login"}))
}

/// `DELETE /api/providers/oauth/{provider_id}`.
pub(crate) fn remove(call: &Call) -> Answered {
    let provider = call.param("provider_id");
    known(provider)?;
    let file = AuthFile::of_home(&call.context().location.home);
    let removed = file
        .remove_provider(provider)
        .map_err(|error| ApiError::unavailable(error.to_string()))?;
    call.answer(json!({"ok": removed.is_some(), "provider": provider}))
}
