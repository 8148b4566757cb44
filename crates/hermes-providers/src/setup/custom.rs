//! Custom endpoints: `providers:`, `custom_providers:` and the `model:` block.

use hermes_config::Config;
use serde_json::Value;

use super::error::OpenError;
use super::registry::{Builtin, CUSTOM, builtin};

/// A custom endpoint from the settings.
#[derive(Debug, Clone, Default)]
pub(super) struct CustomEndpoint {
    /// Name for display and records.
    pub(super) provider: String,
    /// Name of its key pool in `auth.json`.
    pub(super) pool_key: String,
    pub(super) base_url: String,
    /// The raw settings, for optional keys.
    pub(super) raw: Value,
}

impl CustomEndpoint {
    /// The endpoint of this name, with or without the prefix `custom:`.
    pub(super) fn named(config: &Config, name: &str) -> Option<Self> {
        let bare = name.strip_prefix("custom:").unwrap_or(name).trim();
        let (found, raw) = listed(config).find(|(key, raw)| {
            let named = raw["name"].as_str().unwrap_or_default();
            key.eq_ignore_ascii_case(bare) || named.eq_ignore_ascii_case(bare)
        })?;
        let base_url = ["base_url", "api", "url"]
            .iter()
            .find_map(|key| raw[*key].as_str())?;
        Some(Self {
            provider: found.to_owned(),
            pool_key: format!("custom:{found}"),
            base_url: base_url.to_owned(),
            raw: raw.clone(),
        })
    }

    /// An endpoint with only an address.
    pub(super) fn bare(base_url: &str) -> Self {
        Self {
            provider: "custom".to_owned(),
            pool_key: "custom".to_owned(),
            base_url: base_url.to_owned(),
            raw: Value::Null,
        }
    }

    /// The first of these settings that is not empty.
    pub(super) fn text(&self, keys: &[&str]) -> Option<&str> {
        keys.iter()
            .find_map(|key| self.raw[*key].as_str())
            .map(str::trim)
            .filter(|text| !text.is_empty())
    }
}

/// A provider by its name.
pub(super) enum NamedProvider {
    Builtin(&'static Builtin),
    Custom(CustomEndpoint),
}

impl NamedProvider {
    /// The provider of this name; `custom` and its aliases are the endpoint at `base_url`.
    pub(super) fn find(
        config: &Config,
        name: &str,
        base_url: Option<String>,
    ) -> Result<Self, OpenError> {
        if let Some(found) = builtin(name) {
            return Ok(Self::Builtin(found));
        }
        if CUSTOM.contains(&name) {
            let url = base_url.ok_or(OpenError::NoAddress)?;
            return Ok(Self::Custom(CustomEndpoint::bare(&url)));
        }
        let found = CustomEndpoint::named(config, name).map(Self::Custom);
        found.ok_or_else(|| OpenError::UnknownProvider {
            name: name.to_owned(),
        })
    }
}

/// The custom endpoints of the settings with their names: `providers:`, then `custom_providers:`.
pub(super) fn listed(config: &Config) -> impl Iterator<Item = (&str, &Value)> {
    let keyed = config.get("providers").and_then(Value::as_object);
    let keyed = keyed.into_iter().flatten();
    let listed = config.get("custom_providers").and_then(Value::as_array);
    let listed = listed.into_iter().flatten();
    keyed
        .map(|(name, raw)| (name.as_str(), raw))
        .chain(listed.filter_map(|raw| Some((raw["name"].as_str()?, raw))))
}
