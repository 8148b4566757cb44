//! `/api/model` and `/api/providers`: which model answers, what there is to choose from, and who has a
//! key.

use hermes_config::settings::change_values;
use hermes_providers::{AuthFile, BUILTINS, ModelListCache, PoolName, Replay, keys_in_variables};
use hermes_runtime::Context;
use serde_json::{Value, json};

use crate::call::{Answered, Call, json as plain_answer};
use crate::http::ApiError;

/// Most models of a provider that are listed.
const MOST_MODELS: usize = 50;
/// Tasks of the reference that have a model of their own.
const TASKS: [&str; 11] = [
    "vision",
    "web_extract",
    "compression",
    "skills_hub",
    "approval",
    "mcp",
    "title_generation",
    "triage_specifier",
    "kanban_decomposer",
    "profile_describer",
    "goal_judge",
];
/// Resets all tasks.
const RESET: &str = "__reset__";

/// `GET /api/model/info`.
pub(crate) fn info(call: &Call) -> Answered {
    let context = call.context();
    let config = context.config();
    let (model, provider) = config.model();
    let configured = config
        .int("model.context_length")
        .filter(|length| *length > 0);
    let provider = provider.unwrap_or_default();
    let name = model.unwrap_or_default();
    let listed = ModelListCache::of_home(&context.location.home)
        .get(provider, config.text("model.base_url"))
        .unwrap_or_default();
    let found = listed.iter().find(|one| one.name == name);
    let window = found.and_then(|one| one.window).unwrap_or(0);
    let window = i64::try_from(window).unwrap_or(0);
    plain_answer(&json!({
        "model": name,
        "provider": provider,
        "auto_context_length": window,
        "config_context_length": configured.unwrap_or(0),
        "effective_context_length": configured.unwrap_or(window),
        "capabilities": {},
    }))
}

/// Whether a provider has a key here, stored or in a variable.
pub(super) fn keyed(context: &Context) -> Result<impl Fn(&str) -> bool, ApiError> {
    let stored = AuthFile::of_home(&context.location.home).all();
    let stored = stored.map_err(|error| ApiError::unavailable(error.to_string()))?;
    let in_variables = keys_in_variables(context.config());
    Ok(move |id: &str| {
        stored.iter().any(|(provider, _)| provider == id)
            || in_variables.iter().any(|(provider, _)| *provider == id)
    })
}

/// `GET /api/model/options`: providers, with the models that are known of those in use. Asks nobody.
pub(crate) fn options(call: &Call) -> Answered {
    call.answer(options_of(&call.context())?)
}

/// The same, for who asks by another way. Secrets are not masked yet.
pub(crate) fn options_of(context: &Context) -> Result<Value, ApiError> {
    let config = context.config();
    let (model, provider) = config.model();
    let has_key = keyed(context)?;
    let cache = ModelListCache::of_home(&context.location.home);
    let rows: Vec<Value> = BUILTINS
        .iter()
        .filter(|one| has_key(one.id) || provider == Some(one.id))
        .map(|one| {
            let is_current = provider == Some(one.id);
            let address = if is_current {
                config.text("model.base_url")
            } else {
                ""
            };
            let listed = cache.get(one.id, address).unwrap_or_default();
            let names: Vec<&str> = listed.iter().map(|one| one.name.as_str()).collect();
            json!({
                "slug": one.id,
                "name": one.id,
                "is_current": is_current,
                "is_user_defined": false,
                "models": names.iter().take(MOST_MODELS).collect::<Vec<_>>(),
                "total_models": names.len(),
                "source": "canonical",
                "authenticated": has_key(one.id),
                "key_env": one.key_variables.first(),
            })
        })
        .collect();
    Ok(json!({
        "providers": rows,
        "model": model.unwrap_or_default(),
        "provider": provider.unwrap_or_default(),
    }))
}

/// `GET /api/model/auxiliary`.
pub(crate) fn auxiliary(call: &Call) -> Answered {
    let context = call.context();
    let config = context.config();
    let (model, provider) = config.model();
    let tasks: Vec<Value> = TASKS
        .iter()
        .map(|task| {
            let text = |name: &str| config.text(&format!("auxiliary.{task}.{name}")).to_owned();
            let chosen = Some(text("provider")).filter(|name| !name.is_empty());
            json!({
                "task": task,
                "provider": chosen.unwrap_or_else(|| "auto".to_owned()),
                "model": text("model"),
                "base_url": text("base_url"),
            })
        })
        .collect();
    call.answer(json!({
        "tasks": tasks,
        "main": {"provider": provider.unwrap_or_default(), "model": model.unwrap_or_default()},
    }))
}

/// `POST /api/model/set`.
pub(crate) fn set(call: &Call) -> Answered {
    let text = |name: &str| Ok::<_, ApiError>(call.text(name)?.unwrap_or_default().trim());
    let (scope, provider, model) = (text("scope")?, text("provider")?, text("model")?);
    let task = text("task")?;
    let context = call.context();
    let config = context.config();
    if !provider.is_empty() && provider != Replay::ID && provider != "auto" {
        PoolName::resolve(config, provider)
            .map_err(|error| ApiError::bad_request(error.to_string()))?;
    }
    let path = |parts: &[&str]| {
        parts
            .iter()
            .map(|part| (*part).to_owned())
            .collect::<Vec<_>>()
    };
    let mut changes: Vec<(Vec<String>, Option<Value>)> = Vec::new();
    let answer = match scope {
        "main" => {
            if provider.is_empty() || model.is_empty() {
                let message = "the main model needs a provider and a model";
                return Err(ApiError::bad_request(message));
            }
            changes.push((path(&["model", "default"]), Some(json!(model))));
            changes.push((path(&["model", "provider"]), Some(json!(provider))));
            // Both belong to the model before.
            changes.push((path(&["model", "base_url"]), None));
            changes.push((path(&["model", "context_length"]), None));
            json!({"ok": true, "scope": "main", "provider": provider, "model": model})
        }
        "auxiliary" => {
            let is_reset = task == RESET;
            if !is_reset && provider.is_empty() {
                return Err(ApiError::bad_request("a task needs a provider"));
            }
            let targets: Vec<&str> = match task {
                "" | RESET => TASKS.to_vec(),
                task if TASKS.contains(&task) => vec![task],
                other => {
                    let shown = hermes_text::shown(other, 80);
                    let message = format!("there is no task {shown} with a model of its own");
                    return Err(ApiError::bad_request(message));
                }
            };
            let (provider, model) = if is_reset {
                ("auto", "")
            } else {
                (provider, model)
            };
            for target in &targets {
                let place = |name: &str| path(&["auxiliary", target, name]);
                changes.push((place("provider"), Some(json!(provider))));
                changes.push((place("model"), Some(json!(model))));
            }
            if is_reset {
                json!({"ok": true, "scope": "auxiliary", "reset": true})
            } else {
                json!({
                    "ok": true, "scope": "auxiliary", "tasks": targets,
                    "provider": provider, "model": model,
                })
            }
        }
        _ => {
            let message = "`scope` must be main or auxiliary";
            return Err(ApiError::bad_request(message));
        }
    };
    context.ensure_home()?;
    // A model that is only a name becomes a mapping.
    if scope == "main" && config.get("model").is_some_and(Value::is_string) {
        changes.insert(0, (path(&["model"]), Some(json!({"default": model}))));
    }
    change_values(&context.sources_to_write(), &changes)?;
    call.answer(answer)
}
