//! Names of key pools, and keys in variables, for key management.

use hermes_config::Config;

use super::custom::CustomEndpoint;
use super::error::OpenError;
use super::keys::from_variable;
use super::registry::{BUILTINS, CUSTOM, builtin};
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
        let name = provider.trim();
        if let Some(found) = builtin(name) {
            return Ok(Self {
                key: found.id.to_owned(),
                base_url: None,
            });
        }
        if CUSTOM.contains(&name) {
            let url = config.text("model.base_url").trim();
            if url.is_empty() {
                return Err(OpenError::NoAddress);
            }
            return Ok(Self {
                key: "custom".to_owned(),
                base_url: Some(url.to_owned()),
            });
        }
        match CustomEndpoint::named(config, name) {
            Some(endpoint) => Ok(Self {
                key: endpoint.pool_key,
                base_url: Some(endpoint.base_url),
            }),
            None => Err(OpenError::UnknownProvider {
                name: name.to_owned(),
            }),
        }
    }
}

/// Keys of built-in providers in the environment or `.env`, as records without the key.
pub fn keys_in_variables(config: &Config) -> Vec<(&'static str, CredentialEntry)> {
    let mut found = Vec::new();
    for one in BUILTINS {
        let key = one
            .key_variables
            .iter()
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
