//! `/api/env`: the keys in `.env`, masked; one at a time in full, for somebody who may see it.

use hermes_config::dotenv::{DotEnv, known_names};
use hermes_config::settings::{set_variable, unset};
use hermes_secret::display_mask;
use serde_json::{Map, Value, json};

use crate::call::{Answered, Call, json as plain_answer};
use crate::gate::Mode;
use crate::http::ApiError;

fn loaded(call: &Call) -> Result<DotEnv, ApiError> {
    let path = call.context().config().sources().dotenv_path();
    DotEnv::load(&path).map_err(|error| ApiError::unavailable(error.to_string()))
}

/// `GET /api/env`.
pub(crate) fn list(call: &Call) -> Answered {
    let dotenv = loaded(call)?;
    let entry = |value: Option<&str>, category: &str, secret: bool, python: bool| {
        let value = value.filter(|value| !value.is_empty());
        let shown = value.map(|value| {
            if secret {
                display_mask(value)
            } else {
                value.to_owned()
            }
        });
        json!({
            "is_set": value.is_some(),
            "redacted_value": shown,
            "description": "",
            "url": null,
            "category": category,
            "is_password": secret,
            "tools": [],
            "advanced": python,
        })
    };
    let mut variables: Map<String, Value> = known_names()
        .map(|known| {
            let value = dotenv.get(known.name);
            let shown = entry(value, known.category, known.secret, known.python);
            (known.name.to_owned(), shown)
        })
        .collect();
    for name in dotenv.names() {
        if !variables.contains_key(name) {
            variables.insert(
                name.to_owned(),
                entry(dotenv.get(name), "other", true, false),
            );
        }
    }
    call.answer(Value::Object(variables))
}

/// `PUT /api/env`.
pub(crate) fn set(call: &Call) -> Answered {
    let name = call.required_text("key")?;
    let value = call.required_text("value")?;
    let context = call.context();
    if hermes_secret::is_display_mask(value) {
        let message = "the value is the mask of a key, not a key; nothing was changed";
        return Err(ApiError::bad_request(message));
    }
    context.ensure_home()?;
    set_variable(&context.sources_to_write(), name, value)?;
    tracing::info!(name, "a variable of .env was set");
    call.answer(json!({"ok": true, "key": name}))
}

/// `DELETE /api/env`.
pub(crate) fn remove(call: &Call) -> Answered {
    let name = call.required_text("key")?;
    if loaded(call)?.get(name).is_none() {
        let shown = hermes_text::shown(name, 80);
        return Err(ApiError::not_found(format!("{shown} is not in .env")));
    }
    unset(&call.context().sources_to_write(), name)?;
    tracing::info!(name, "a variable of .env was removed");
    call.answer(json!({"ok": true, "key": name}))
}

/// `POST /api/env/reveal`: one value in full, five times in half a minute.
pub(crate) fn reveal(call: &Call) -> Answered {
    if call.app.gate.mode() == (Mode::Open { full: false }) {
        let message = "a dashboard without logins shows no secrets; HERMES_DASHBOARD_INSECURE_FULL=1 \
                       allows it";
        return Err(ApiError::forbidden(message));
    }
    let name = call.required_text("key")?;
    call.app.gate.reveal().map_err(|seconds| {
        ApiError::too_many("too many keys were shown; try again shortly", seconds)
    })?;
    let dotenv = loaded(call)?;
    let value = dotenv.get(name).ok_or_else(|| {
        let shown = hermes_text::shown(name, 80);
        ApiError::not_found(format!("{shown} is not in .env"))
    })?;
    tracing::info!(name, peer = %call.visitor.address, "a key was shown");
    plain_answer(&json!({"key": name, "value": value}))
}
