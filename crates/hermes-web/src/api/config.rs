//! `/api/config`: the settings, as a form and as the file itself. Secrets are masked on the way out,
//! and a mask that comes back changes nothing.

use hermes_config::schema::{self, Kind};
use hermes_config::settings::{change_values, masked, masked_text, replace_file};
use hermes_config::{Config, yaml};
use hyper::header::{self, HeaderValue};
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use crate::call::{Answered, Call, json as plain_answer};
use crate::http::ApiError;

const MAX_BYTES: u64 = 16 << 20;
/// Tabs of the form, in order.
const CATEGORIES: [&str; 15] = [
    "general",
    "agent",
    "terminal",
    "display",
    "delegation",
    "memory",
    "compression",
    "security",
    "browser",
    "voice",
    "tts",
    "stt",
    "logging",
    "discord",
    "auxiliary",
];
/// Small sections that share a tab with another.
const MERGED: [(&str, &str); 13] = [
    ("privacy", "security"),
    ("context", "agent"),
    ("skills", "agent"),
    ("cron", "agent"),
    ("network", "agent"),
    ("checkpoints", "agent"),
    ("approvals", "security"),
    ("human_delay", "display"),
    ("dashboard", "display"),
    ("code_execution", "agent"),
    ("prompt_caching", "agent"),
    ("goals", "agent"),
    ("telegram", "discord"),
];

/// The settings as the form has them: the model as a name, its context length beside it, and nothing
/// that belongs to the program alone.
fn form(tree: &Value) -> Value {
    let mut form = masked(tree);
    let Some(fields) = form.as_object_mut() else {
        return json!({});
    };
    fields.retain(|name, _| !name.starts_with('_'));
    let model = fields.get("model").cloned().unwrap_or(Value::Null);
    let (name, length) = match &model {
        Value::Object(model) => {
            let name = model.get("default").or_else(|| model.get("name"));
            let length = model.get("context_length").and_then(Value::as_i64);
            (
                name.cloned().unwrap_or_else(|| json!("")),
                length.unwrap_or(0),
            )
        }
        Value::String(_) => (model.clone(), 0),
        _ => (json!(""), 0),
    };
    fields.insert("model".to_owned(), name);
    fields.insert("model_context_length".to_owned(), json!(length));
    form
}

fn shown(config: &Config) -> Value {
    form(&config.shown("").unwrap_or_else(|| json!({})))
}

/// What tells one state of the file from another.
fn stamp(text: &str) -> String {
    let digest = hermes_fs::hex(&Sha256::digest(text.as_bytes()));
    format!("\"{}\"", digest.chars().take(32).collect::<String>())
}

fn file_text(config: &Config) -> Result<String, ApiError> {
    match hermes_fs::read_text_capped(&config.sources().config_path(), MAX_BYTES) {
        Ok(text) => Ok(text),
        Err(error) if error.is_not_found() => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

fn stamped(answered: Answered, text: &str) -> Answered {
    let mut response = answered?;
    if let Ok(value) = HeaderValue::from_str(&stamp(text)) {
        response.headers_mut().insert(header::ETAG, value);
    }
    Ok(response)
}

/// The state of the file that the client saw, if it says so.
fn wanted_state(call: &Call) -> Option<String> {
    let text = call.header(&header::IF_MATCH)?.trim();
    (text != "*").then(|| text.to_owned())
}

/// `GET /api/config`.
pub(crate) fn show(call: &Call) -> Answered {
    let context = call.context();
    let text = file_text(context.config())?;
    stamped(call.answer(shown(context.config())), &text)
}

/// `GET /api/config/defaults`.
pub(crate) fn defaults(_: &Call) -> Answered {
    plain_answer(&form(&default_tree()))
}

fn default_tree() -> Value {
    let mut tree = schema::reference_defaults("").unwrap_or_else(|| json!({}));
    for (path, key) in schema::keys().filter(|(path, _)| !path.contains('*')) {
        if let Some(value) = key.default.value() {
            let path: Vec<String> = path.split('.').map(str::to_owned).collect();
            // A default never stands in the way of another.
            drop(yaml::set_in_value(&mut tree, &path, value));
        }
    }
    tree
}

/// `GET /api/config/schema`: every setting with its type, its words and what it does.
pub(crate) fn fields(_: &Call) -> Answered {
    let mut fields = Map::new();
    let general =
        |kind: &str, text: &str| json!({"type": kind, "description": text, "category": "general"});
    fields.insert("model".to_owned(), general("string", "Name of the model"));
    fields.insert(
        "model_context_length".to_owned(),
        general(
            "number",
            "Context length of the model; 0 means that it is found out",
        ),
    );
    for (path, key) in schema::keys().filter(|(path, _)| !path.contains('*')) {
        let section = path.split('.').next().unwrap_or_default();
        if section == "model" || path.starts_with('_') {
            continue;
        }
        let category = if path.contains('.') {
            section
        } else {
            "general"
        };
        let merged = MERGED.iter().find(|(small, _)| *small == category);
        let (kind, options) = kind_of(key.kind);
        let mut field = json!({
            "type": kind,
            "description": key.doc.trim(),
            "category": merged.map_or(category, |(_, tab)| tab),
        });
        if let Some(options) = options {
            field["options"] = json!(options);
        }
        if key.secret {
            field["is_secret"] = json!(true);
        }
        fields.insert(path, field);
    }
    plain_answer(&json!({"fields": fields, "category_order": CATEGORIES}))
}

fn kind_of(kind: Kind) -> (&'static str, Option<&'static [&'static str]>) {
    match kind {
        Kind::Bool | Kind::Switch => ("boolean", None),
        Kind::Int | Kind::Positive | Kind::Number => ("number", None),
        Kind::Choice(words) => ("select", Some(words)),
        Kind::List | Kind::ListOrMap => ("list", None),
        Kind::Map => ("object", None),
        Kind::Text | Kind::TextOrMap | Kind::BoolOr(_) | Kind::IntOr(_) | Kind::Any => {
            ("string", None)
        }
    }
}

/// `PUT /api/config`: the form as it came back. Only what differs is written.
pub(crate) fn update(call: &Call) -> Answered {
    let Some(Value::Object(wanted)) = call.object()?.get("config") else {
        let message = "must be an object of settings";
        return Err(ApiError::invalid(&["body", "config"], message, "dict_type"));
    };
    let context = call.context();
    context.ensure_home()?;
    let config = context.config();
    if let Some(state) = wanted_state(call)
        && stamp(&file_text(config)?) != state
    {
        let message = "config.yaml was changed by somebody else in the meantime; load it again";
        return Err(ApiError::conflict(message));
    }
    let before = shown(config);
    let mut changes = Vec::new();
    let mut wanted = wanted.clone();
    let model_is_map = config.get("model").is_some_and(Value::is_object);
    for (field, key) in [
        ("model", "default"),
        ("model_context_length", "context_length"),
    ] {
        let Some(value) = wanted.remove(field) else {
            continue;
        };
        if before.get(field) == Some(&value) {
            continue;
        }
        let is_unset = value.as_i64() == Some(0) || value.is_null();
        let path = match (field, model_is_map) {
            ("model", false) => vec!["model".to_owned()],
            _ => vec!["model".to_owned(), key.to_owned()],
        };
        let unset = field == "model_context_length" && is_unset;
        changes.push((path, (!unset).then_some(value)));
    }
    differences(
        &before,
        &Value::Object(wanted),
        &mut Vec::new(),
        &mut changes,
    );
    change_values(&context.sources_to_write(), &changes)?;
    tracing::info!(count = changes.len(), "settings were changed");
    call.answer(json!({"ok": true, "changed": changes.len()}))
}

/// What differs, leaf by leaf. What a client does not send stays: it may not know it.
fn differences(
    before: &Value,
    after: &Value,
    path: &mut Vec<String>,
    changes: &mut Vec<(Vec<String>, Option<Value>)>,
) {
    if is_same(before, after) {
        return;
    }
    let Value::Object(fields) = after else {
        // The mask over a secret is equal before and after; another mask is nobody's secret.
        let is_mask = after.as_str().is_some_and(hermes_secret::is_display_mask);
        if !(is_mask && hermes_config::settings::is_secret_path(path)) {
            changes.push((path.clone(), Some(after.clone())));
        }
        return;
    };
    if fields.is_empty() && !path.is_empty() && !before.is_object() {
        changes.push((path.clone(), Some(after.clone())));
        return;
    }
    for (name, value) in fields.iter().filter(|(name, _)| !name.starts_with('_')) {
        path.push(name.clone());
        let old = before.get(name).unwrap_or(&Value::Null);
        let is_absent = before.get(name).is_none() && value.is_null();
        if !is_absent {
            differences(old, value, path, changes);
        }
        path.pop();
    }
}

/// Whether two values mean the same: JavaScript sends 1.0 back as 1.
fn is_same(before: &Value, after: &Value) -> bool {
    match (before, after) {
        (Value::Number(before), Value::Number(after)) if before != after => {
            let numbers = before.as_f64().zip(after.as_f64());
            numbers.is_some_and(|(before, after)| before.total_cmp(&after).is_eq())
        }
        (Value::Array(before), Value::Array(after)) => {
            let mut pairs = before.iter().zip(after);
            before.len() == after.len() && pairs.all(|(before, after)| is_same(before, after))
        }
        _ => before == after,
    }
}

/// `GET /api/config/raw`: the file itself, with masks over literal secrets.
pub(crate) fn raw(call: &Call) -> Answered {
    let context = call.context();
    let text = file_text(context.config())?;
    let shown = masked_text(&text)
        .map_err(|error| ApiError::unavailable(format!("config.yaml cannot be read: {error}")))?;
    stamped(call.answer(json!({ "yaml": shown })), &text)
}

/// `PUT /api/config/raw`: the file itself.
pub(crate) fn update_raw(call: &Call) -> Answered {
    let text = call.required_text("yaml_text")?;
    let context = call.context();
    context.ensure_home()?;
    let state = wanted_state(call);
    let is_base = |old: &str| state.as_deref().is_none_or(|state| stamp(old) == state);
    replace_file(&context.sources_to_write(), text, Some(&is_base))?;
    tracing::info!("config.yaml was replaced");
    call.answer(json!({"ok": true}))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn only_leaves_that_differ_are_written_and_foreign_masks_never() {
        let before = json!({"a": {"b": 1, "api_key": "abcd...wxyz"}, "c": [1], "d": null});
        let after =
            json!({"a": {"b": 2, "api_key": "zzzz...yyyy"}, "c": [1], "d": null, "e": null});
        let mut changes = Vec::new();
        differences(&before, &after, &mut Vec::new(), &mut changes);
        let path = vec!["a".to_owned(), "b".to_owned()];
        assert_eq!(changes, [(path, Some(json!(2)))]);
    }

    #[test]
    fn number_that_comes_back_without_its_fraction_has_not_changed() {
        let before = json!({"speed": 1.0, "gains": [0.5, 2.0], "count": 3, "wait": 5.0});
        let after = json!({"speed": 1, "gains": [0.5, 2], "count": 4, "wait": 5.5});
        let mut changes = Vec::new();
        differences(&before, &after, &mut Vec::new(), &mut changes);
        let changed: Vec<&str> = changes.iter().map(|(path, _)| path[0].as_str()).collect();
        assert_eq!(changed, ["count", "wait"]);
    }

    #[test]
    fn the_form_has_the_model_as_a_name() {
        let tree = json!({
            "_config_version": 3,
            "model": {"default": "m", "api_key": "sk-0123456789abcdef", "context_length": 5},
        });
        assert_eq!(
            form(&tree),
            json!({"model": "m", "model_context_length": 5})
        );
    }
}
