//! What setup writes: the model block, keys, the backend. One thing at a time, each whole.

use hermes_config::settings::{SetRequest, set, unset};
use hermes_config::{Config, Environment};
use hermes_providers::Builtin;
use hermes_secret::SecretString;

use crate::commands::auth::add_to_pool;
use crate::context::Context;
use crate::error::Result;

/// The variable with the key of an address of one's own.
const CUSTOM_KEY: &str = "CUSTOM_API_KEY";

/// What answers from now on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelSettings {
    pub(crate) provider: String,
    /// The address; `None` for the provider's own.
    pub(crate) base_url: Option<String>,
    pub(crate) model: String,
    /// The variable with the key of an address of one's own.
    pub(crate) key_variable: Option<String>,
}

/// Writes the model block. What described the model before it, such as the size of its window, goes.
pub(crate) fn write_model(context: &Context, chosen: &ModelSettings) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.ensure_home()?;
    let sources = context.sources_to_write();
    let (model, provider) = context.config().model();
    let text = |key: &str| Some(context.config().text(key)).filter(|text| !text.is_empty());
    let is_same = provider == Some(chosen.provider.as_str())
        && text("model.base_url") == chosen.base_url.as_deref();
    let mut wanted = vec![
        ("model.provider", Some(chosen.provider.as_str())),
        ("model.base_url", chosen.base_url.as_deref()),
        ("model.default", Some(chosen.model.as_str())),
    ];
    if !is_same || model != Some(chosen.model.as_str()) {
        wanted.extend(["model.context_length", "model.max_tokens"].map(|key| (key, None)));
    }
    if !is_same {
        wanted.push(("model.key_env", chosen.key_variable.as_deref()));
        let others = ["model.api_key", "model.api_mode", "model.ollama_num_ctx"];
        wanted.extend(others.map(|key| (key, None)));
    } else if let Some(variable) = &chosen.key_variable {
        wanted.push(("model.key_env", Some(variable)));
    }
    for (key, value) in wanted {
        match value {
            Some(value) => {
                let request = SetRequest {
                    key,
                    value,
                    force: false,
                };
                set(&sources, &request)?;
            }
            None if is_in_file(context.config(), key) => {
                unset(&sources, key)?;
            }
            None => {}
        }
    }
    context.start_logging();
    tracing::info!("model changed");
    Ok(())
}

fn is_in_file(config: &Config, key: &str) -> bool {
    let name = key.strip_prefix("model.").unwrap_or(key);
    let document = config.user_file().document();
    document.is_some_and(|document| !document.value()["model"][name].is_null())
}

/// Stores the key of a provider: in `.env`, or in `auth.json` where a variable of the environment
/// would win over `.env`. Gives the place, for people.
pub(crate) fn write_key(
    context: &Context,
    provider: &Builtin,
    key: &SecretString,
) -> Result<String> {
    let variable = provider.key_variables.first().copied().unwrap_or_default();
    if variable.is_empty() || is_shadowed(&context.env, variable, key) {
        add_to_pool(context, provider.id, key, None)?;
        return Ok(context.display(&context.location.home.join("auth.json")));
    }
    write_variable(context, variable, key)
}

/// Stores the key of an address of one's own. Gives the variable.
pub(crate) fn write_custom_key(context: &Context, key: &SecretString) -> Result<String> {
    write_variable(context, CUSTOM_KEY, key)?;
    Ok(CUSTOM_KEY.to_owned())
}

/// Stores a secret in `.env`. Gives the place, for people.
pub(super) fn write_variable(
    context: &Context,
    variable: &str,
    key: &SecretString,
) -> Result<String> {
    context.refuse_if_managed(".env")?;
    context.ensure_home()?;
    let request = SetRequest {
        key: variable,
        value: key.expose(),
        force: false,
    };
    let outcome = set(&context.sources_to_write(), &request)?;
    Ok(context.display(&outcome.path))
}

fn is_shadowed(env: &Environment, variable: &str, key: &SecretString) -> bool {
    let set = env.lookup(variable).map(str::trim);
    set.is_some_and(|value| !value.is_empty() && value != key.expose())
}

/// Writes one setting.
pub(super) fn write_setting(context: &Context, key: &str, value: &str) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    context.ensure_home()?;
    let request = SetRequest {
        key,
        value,
        force: false,
    };
    set(&context.sources_to_write(), &request)?;
    Ok(())
}
