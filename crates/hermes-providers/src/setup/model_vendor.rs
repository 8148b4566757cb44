//! The provider of a model that is named without one.
//!
//! Only certain matches count: a custom endpoint whose settings list the model, or the vendor of the
//! model family if its key is set. A custom endpoint may serve anything under any name, so only
//! another custom endpoint replaces it, never a vendor.

use hermes_config::Config;
use serde_json::Value;

use super::custom::{CustomEndpoint, listed};
use super::registry::builtin;
use super::resolve::{has_key, variable};

/// Prefixes of model names and their vendors.
const VENDORS: &[(&str, &str)] = &[
    ("claude-", "anthropic"),
    ("gpt-", "openai-api"),
    ("chatgpt-", "openai-api"),
    ("o1", "openai-api"),
    ("o3", "openai-api"),
    ("o4-", "openai-api"),
    ("gemini-", "gemini"),
    ("grok-", "xai"),
    ("deepseek-", "deepseek"),
    ("glm-", "zai"),
    ("kimi-", "kimi-coding"),
    ("moonshot-", "kimi-coding"),
    ("minimax-", "minimax"),
    ("qwen", "alibaba"),
    ("step-", "stepfun"),
    ("mimo-", "xiaomi"),
    ("trinity-", "arcee"),
    ("solar-", "upstage"),
];

/// Providers that serve models of many vendors as `vendor/model`.
const BY_VENDOR_NAME: &[&str] = &[
    "openrouter",
    "nvidia",
    "huggingface",
    "novita",
    "gmi",
    "kilocode",
    "deepinfra",
    "fireworks",
];

/// Providers that serve models of many vendors under plain names.
const BY_PLAIN_NAME: &[&str] = &[
    "ollama-cloud",
    "lmstudio",
    "tencent-tokenhub",
    "opencode-zen",
    "opencode-go",
    "copilot",
    "azure-foundry",
];

/// The provider for `model`; `None` for the configured one.
pub(super) fn provider_for_model(
    config: &Config,
    model: &str,
    configured: Option<&str>,
) -> Option<String> {
    let model = model.trim();
    let configured = configured.map(str::trim).filter(|name| !name.is_empty());
    let configured = configured.filter(|name| !name.eq_ignore_ascii_case("auto"));
    if let Some(endpoint) = configured.and_then(|name| CustomEndpoint::named(config, name))
        && lists(&endpoint.raw, model)
    {
        return None;
    }
    if let Some(name) = listing_endpoint(config, model) {
        return Some(name);
    }
    match configured {
        Some(name) => from_known(config, model, builtin(name)?.id),
        None if has_own_address(config) => None,
        None if model.contains('/') => usable(config, "openrouter"),
        None => usable(config, vendor_of(model)?),
    }
}

/// The provider to use instead of a configured built-in one.
fn from_known(config: &Config, model: &str, configured: &str) -> Option<String> {
    if BY_PLAIN_NAME.contains(&configured) {
        return None;
    }
    let found = if let Some((vendor, _)) = model.split_once('/') {
        let of_vendor = builtin(vendor).map(|vendor| vendor.id);
        if BY_VENDOR_NAME.contains(&configured) || of_vendor == Some(configured) {
            return None;
        }
        "openrouter"
    } else {
        let vendor = vendor_of(model)?;
        // Regional variants and coding plans serve the same families.
        if configured.starts_with(vendor) {
            return None;
        }
        vendor
    };
    usable(config, found)
}

fn usable(config: &Config, id: &str) -> Option<String> {
    let found = builtin(id)?;
    has_key(config, found).then(|| found.id.to_owned())
}

fn vendor_of(model: &str) -> Option<&'static str> {
    let model = model.to_ascii_lowercase();
    VENDORS
        .iter()
        .find(|(start, _)| model.starts_with(start))
        .map(|(_, vendor)| *vendor)
}

fn has_own_address(config: &Config) -> bool {
    !config.text("model.base_url").trim().is_empty()
        || variable(config, hermes_config::vars::CUSTOM_BASE_URL.name).is_some()
}

/// The custom endpoint whose settings list the model.
fn listing_endpoint(config: &Config, model: &str) -> Option<String> {
    let (name, _) = listed(config)
        // The section of a built-in provider has only timeouts.
        .filter(|(name, _)| builtin(name).is_none())
        .filter(|(name, _)| CustomEndpoint::named(config, name).is_some())
        .find(|(_, raw)| lists(raw, model))?;
    Some(format!("custom:{name}"))
}

fn lists(raw: &Value, model: &str) -> bool {
    let is_it = |value: &Value| value.as_str().is_some_and(|name| name.trim() == model);
    is_it(&raw["default_model"])
        || is_it(&raw["model"])
        || match &raw["models"] {
            Value::Object(models) => models.contains_key(model),
            Value::Array(models) => models.iter().any(|one| is_it(one) || is_it(&one["name"])),
            _ => false,
        }
}
