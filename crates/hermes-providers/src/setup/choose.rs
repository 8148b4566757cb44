//! Combines flags, the `model:` block, model aliases and the vendor of a model name.

use hermes_config::Config;
use hermes_secret::SecretString;
use serde_json::Value;

use super::keys::GivenKey;
use super::model_vendor::provider_for_model;
use super::overrides::ModelOverrides;
use super::registry::builtin;
use super::resolve::RouteChoice;

/// The route chosen by settings and flags.
pub(super) fn choice(config: &Config, overrides: &ModelOverrides) -> RouteChoice {
    let (_, configured) = config.model();
    let alias = overrides
        .model
        .as_deref()
        .filter(|_| overrides.provider.is_none())
        .and_then(|name| alias(config, name))
        .unwrap_or_default();
    let model = alias.model.or_else(|| overrides.model.clone());
    let own_address = overrides.base_url.clone().or(alias.base_url);
    let asked = overrides.provider.clone().or(alias.provider).or_else(|| {
        let model = model.as_deref().filter(|_| own_address.is_none())?;
        provider_for_model(config, model, configured)
    });
    let same = match (&asked, configured) {
        (None, _) => true,
        (Some(asked), Some(configured)) => is_same_provider(asked, configured),
        (Some(_), None) => false,
    };
    let from_block = same && own_address.is_none();
    let text = |key: &str| {
        let text = config.text(key).trim();
        (from_block && !text.is_empty()).then(|| text.to_owned())
    };
    RouteChoice {
        // An alias with only an address is a custom endpoint.
        provider: asked
            .or_else(|| own_address.as_ref().map(|_| "custom".to_owned()))
            .or_else(|| configured.map(str::to_owned)),
        model,
        base_url: own_address,
        flag_key: overrides.api_key.clone(),
        given_key: GivenKey {
            api_key: text("model.api_key").map(SecretString::from),
            key_env: text("model.key_env"),
        },
        from_model_block: from_block,
        mode: None,
    }
}

/// An entry of `model_aliases`.
fn alias(config: &Config, name: &str) -> Option<ModelOverrides> {
    let mut all = config.get("model_aliases")?.as_object()?.iter();
    let (_, found) = all.find(|(key, _)| key.trim().eq_ignore_ascii_case(name.trim()))?;
    let filled = |value: &Value| {
        let text = value.as_str()?.trim();
        (!text.is_empty()).then(|| text.to_owned())
    };
    Some(ModelOverrides {
        model: filled(found).or_else(|| filled(&found["model"])),
        provider: filled(&found["provider"]),
        base_url: filled(&found["base_url"]),
        api_key: None,
    })
}

fn is_same_provider(one: &str, other: &str) -> bool {
    let known = |name: &str| builtin(name).map(|found| found.id);
    one.trim().eq_ignore_ascii_case(other.trim())
        || (known(one).is_some() && known(one) == known(other))
}
