//! The fallback chain as the settings give it: `fallback_providers`, then `fallback_model`.

use hermes_config::Config;
use hermes_secret::SecretString;
use serde_json::Value;

use super::keys::GivenKey;
use super::resolve::{Choice, Resolved, resolve};

/// The routes to try after the first. Entries without a key, equal to the first or to each other are
/// left out: they cannot help.
pub(super) fn chain(config: &Config, primary: Option<&Resolved>) -> Vec<Resolved> {
    let mut chain: Vec<Resolved> = Vec::new();
    for key in ["fallback_providers", "fallback_model"] {
        let entries: &[Value] = match config.get(key) {
            Some(Value::Array(items)) => items,
            Some(one @ Value::Object(_)) => std::slice::from_ref(one),
            _ => &[],
        };
        for entry in entries {
            let Some(choice) = choice(entry) else {
                tracing::warn!("an entry of `{key}` has no provider and model");
                continue;
            };
            match resolve(config, &choice) {
                Ok(found) => {
                    let known = primary.into_iter().chain(&chain);
                    if !known.into_iter().any(|one| one.route.is_same(&found.route)) {
                        chain.push(found);
                    }
                }
                Err(error) => tracing::info!("an entry of `{key}` is left out: {error}"),
            }
        }
    }
    chain
}

fn choice(entry: &Value) -> Option<Choice> {
    let text = |key: &str| {
        let text = entry[key].as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    let base_url = text("base_url");
    Some(Choice {
        // An address alone is an endpoint of its own.
        provider: Some(
            text("provider").or_else(|| base_url.as_ref().map(|_| "custom".to_owned()))?,
        ),
        model: Some(text("model")?),
        base_url,
        given_key: GivenKey {
            api_key: text("api_key").map(SecretString::from),
            key_env: text("key_env"),
        },
        ..Choice::default()
    })
}
