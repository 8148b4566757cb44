//! Names of key pools, and keys in variables, for key management.

use hermes_config::Config;

use super::custom::NamedProvider;
use super::error::OpenError;
use super::keys::from_variable;
use super::registry::BUILTINS;
use crate::pool::CredentialEntry;

/// The key pool of a provider in `auth.json`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PoolName {
    /// The name in `credential_pool`.
    pub key: String,
    /// The address new keys are restricted to; `None` for built-in providers.
    pub base_url: Option<String>,
}

impl PoolName {
    /// The pool of a provider by name.
    pub fn resolve(config: &Config, provider: &str) -> Result<Self, OpenError> {
        let url = Some(config.text("model.base_url").trim());
        let url = url.filter(|url| !url.is_empty()).map(str::to_owned);
        Ok(match NamedProvider::find(config, provider.trim(), url)? {
            NamedProvider::Builtin(found) => Self {
                key: found.id.to_owned(),
                base_url: None,
            },
            NamedProvider::Custom(endpoint) => Self {
                key: endpoint.pool_key,
                base_url: Some(endpoint.base_url),
            },
        })
    }
}

/// Keys of built-in providers in the environment or `.env`, as records without the key.
pub fn keys_in_variables(config: &Config) -> Vec<(&'static str, CredentialEntry)> {
    let mut found = Vec::new();
    for one in BUILTINS {
        let key = one
            .key_variables
            .iter()
            .filter(|name| one.is_meant_by(name) || config.model().1 == Some(one.id))
            .find_map(|name| from_variable(config, name));
        if let Some((source, key)) = key {
            // An OpenAI key is not an OpenRouter key, unless it looks like one.
            let foreign = one.id == "openrouter" && source == "env:OPENAI_API_KEY";
            if !foreign || key.expose().starts_with("sk-or-") {
                let label = source.trim_start_matches("env:").to_owned();
                found.push((
                    one.id,
                    CredentialEntry::record("-".to_owned(), &label, &source, 0),
                ));
            }
        }
    }
    found
}
