//! The fallback chain in the settings: `fallback_providers`, then `fallback_model`.

use hermes_config::Config;
use hermes_secret::SecretString;
use serde_json::Value;

use super::error::OpenError;
use super::keys::GivenKey;
use super::resolve::{ResolvedRoute, RouteChoice, resolve};

/// The settings of the chain, in order.
const KEYS: [&str; 2] = ["fallback_providers", "fallback_model"];

/// An entry of the chain.
#[derive(Debug)]
pub struct FallbackEntry {
    /// The setting that contains the entry.
    pub setting: &'static str,
    /// The raw entry. May contain a key.
    pub raw: Value,
    /// Provider, as written; `custom` for an address alone.
    pub provider: String,
    pub model: String,
    pub base_url: Option<String>,
    pub key_env: Option<String>,
    /// Why the entry cannot be used; such entries are skipped.
    pub problem: Option<OpenError>,
}

/// All entries of the chain, including unusable ones. Makes no request.
pub fn fallback_entries(config: &Config) -> Vec<FallbackEntry> {
    entries(config)
        .map(|(setting, raw)| {
            let choice = choice(raw);
            let text = |key: &str| raw[key].as_str().unwrap_or_default().to_owned();
            let problem = fallback_problem(config, raw);
            let known = choice.unwrap_or_default();
            FallbackEntry {
                setting,
                raw: raw.clone(),
                provider: known.provider.unwrap_or_else(|| text("provider")),
                model: known.model.unwrap_or_else(|| text("model")),
                base_url: known.base_url,
                key_env: known.given_key.key_env,
                problem,
            }
        })
        .collect()
}

/// Why an entry of the chain cannot be used, if so.
pub fn fallback_problem(config: &Config, entry: &Value) -> Option<OpenError> {
    match choice(entry) {
        Some(choice) => resolve(config, &choice).err(),
        None => Some(OpenError::IncompleteFallback),
    }
}

fn entries(config: &Config) -> impl Iterator<Item = (&'static str, &Value)> {
    KEYS.into_iter().flat_map(|key| {
        let entries: &[Value] = match config.get(key) {
            Some(Value::Array(items)) => items,
            Some(one @ Value::Object(_)) => std::slice::from_ref(one),
            _ => &[],
        };
        entries.iter().map(move |entry| (key, entry))
    })
}

/// The fallback routes, without unusable entries and duplicates.
pub(super) fn chain(config: &Config, primary: Option<&ResolvedRoute>) -> Vec<ResolvedRoute> {
    let mut chain: Vec<ResolvedRoute> = Vec::new();
    for (key, entry) in entries(config) {
        let Some(choice) = choice(entry) else {
            tracing::warn!("an entry of `{key}` has no provider and model");
            continue;
        };
        match resolve(config, &choice) {
            Ok(found) => {
                let mut known = primary.into_iter().chain(&chain);
                if !known.any(|one| one.route.is_same(&found.route)) {
                    chain.push(found);
                }
            }
            Err(error) => tracing::info!("an entry of `{key}` is skipped: {error}"),
        }
    }
    chain
}

fn choice(entry: &Value) -> Option<RouteChoice> {
    let text = |key: &str| {
        let text = entry[key].as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let base_url = text("base_url");
    Some(RouteChoice {
        // An address alone is a custom endpoint.
        provider: Some(
            text("provider").or_else(|| base_url.as_ref().map(|_| "custom".to_owned()))?,
        ),
        model: Some(text("model")?),
        base_url,
        given_key: GivenKey {
            api_key: text("api_key").map(SecretString::from),
            key_env: text("key_env"),
        },
        ..RouteChoice::default()
    })
}
