//! The keys of a route. A key is sent only to the host it was configured for.

use std::path::PathBuf;
use std::sync::Arc;

use hermes_config::Config;
use hermes_config::dotenv::DotEnv;
use hermes_secret::SecretString;
use serde_json::Value;

use super::registry::{Builtin, COPILOT};
use crate::login::{CopilotExchange, LoginRefresher, QwenLogin, login_server};
use crate::pool::{
    AuthFile, CredentialEntry, KeyRing, Strategy, TokenExchange, TokenRefresher, is_usable_secret,
    key_refusal,
};
use crate::route::{host_of, is_host, vendor_variable};

/// Whether a provider's logins can be used here.
fn has_login(provider: &str) -> bool {
    login_server(provider).is_some() || provider == QwenLogin::PROVIDER
}

/// The source of a known provider's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AddressSource {
    Table,
    Variable,
    /// `model.base_url`, or an entry of the fallback chain.
    Settings,
}

/// A key that settings give for one route.
#[derive(Debug, Clone, Default)]
pub(super) struct GivenKey {
    pub(super) api_key: Option<SecretString>,
    /// The variable with the key.
    pub(super) key_env: Option<String>,
}

impl GivenKey {
    /// The key and its source.
    fn find(&self, config: &Config) -> Option<(String, SecretString)> {
        let given = self.api_key.clone().filter(usable);
        given
            .map(|key| ("config".to_owned(), key))
            .or_else(|| from_variable(config, self.key_env.as_deref()?))
    }
}

/// The keys of a known provider.
pub(super) fn of_builtin(
    config: &Config,
    builtin: &Builtin,
    host: &str,
    address: AddressSource,
    given: &GivenKey,
) -> Arc<KeyRing> {
    let found = given.find(config).or_else(|| {
        builtin
            .key_variables
            .iter()
            .filter_map(|name| from_variable(config, name))
            .filter(|(_, key)| key_refusal(builtin.id, key.expose()).is_none())
            .find(|(source, key)| may_go_to(source, key, host, address))
    });
    // Keys of these vendors, whose formats many servers speak, stay with the vendor.
    let shared = ["openrouter", "openai-api", "ollama-cloud"].contains(&builtin.id);
    let moved = address == AddressSource::Settings && host != host_of(builtin.base_url);
    ring(config, builtin.id, host, found, !(shared && moved))
}

/// Whether the key of a known provider's variable may go to a host.
fn may_go_to(source: &str, key: &SecretString, host: &str, address: AddressSource) -> bool {
    let own_variable = address == AddressSource::Variable;
    match source {
        // Early OpenRouter keys were stored in this variable.
        "env:OPENAI_API_KEY" if is_host(host, "openrouter.ai") => {
            key.expose().starts_with("sk-or-")
        }
        "env:OPENAI_API_KEY" => {
            own_variable || is_host(host, "openai.com") || is_host(host, "openai.azure.com")
        }
        "env:OPENROUTER_API_KEY" => own_variable || is_host(host, "openrouter.ai"),
        "env:OLLAMA_API_KEY" => own_variable || is_host(host, "ollama.com"),
        _ => true,
    }
}

/// The keys of a custom endpoint.
pub(super) fn of_custom(
    config: &Config,
    pool_key: &str,
    host: &str,
    given: &GivenKey,
) -> Arc<KeyRing> {
    let found = given.find(config).or_else(|| {
        let shared = ["OPENAI_API_KEY", "OPENROUTER_API_KEY", "OLLAMA_API_KEY"];
        shared
            .iter()
            .filter_map(|name| from_variable(config, name))
            .find(|(source, key)| may_go_to(source, key, host, AddressSource::Settings))
            .or_else(|| from_variable(config, &vendor_variable(host)?))
    });
    // Keys of a pool without an address must not go wherever `model.base_url` points.
    ring(config, pool_key, host, found, pool_key != "custom")
}

/// The address that the login of a provider is for, if it is not the provider's own.
pub(super) fn login_address(config: &Config, provider: &str) -> Option<String> {
    if !has_login(provider) {
        return None;
    }
    let file = AuthFile::of_home(&config.sources().home);
    if provider == QwenLogin::PROVIDER {
        return file.login_text(provider, "base_url");
    }
    let entries = file.entries(provider).ok()?;
    let login = entries.iter().find(|entry| entry.auth_type() == "oauth")?;
    login.base_url().map(str::to_owned)
}

/// A key from the command line, for this run only.
pub(super) fn of_flag(config: &Config, pool_key: &str, key: SecretString) -> Arc<KeyRing> {
    let entry = CredentialEntry::record("000000".to_owned(), "flag", "flag", 0);
    let (keys, exchange) = (vec![(key, entry)], exchange(config, pool_key));
    KeyRing::new(keys, Vec::new(), Strategy::FillFirst, None, None, exchange)
}

/// What makes tokens out of the keys of a pool, if they are not sent themselves.
fn exchange(config: &Config, pool_key: &str) -> Option<Arc<dyn TokenExchange>> {
    (pool_key == COPILOT)
        .then(|| -> Arc<dyn TokenExchange> { Arc::new(CopilotExchange::new(config)) })
}

/// The keys of `auth.json` first, then the key found elsewhere. `allows_unbound` says whether stored
/// keys without an address may be used.
fn ring(
    config: &Config,
    pool_key: &str,
    host: &str,
    found: Option<(String, SecretString)>,
    allows_unbound: bool,
) -> Arc<KeyRing> {
    let file = AuthFile::of_home(&config.sources().home);
    let entries_of = |file: &AuthFile| {
        file.entries(pool_key).unwrap_or_else(|error| {
            tracing::warn!("{error}");
            Vec::new()
        })
    };
    let keys_of = |entries: &[CredentialEntry]| -> Vec<(SecretString, CredentialEntry)> {
        let usable = entries.iter().filter(|entry| match entry.base_url() {
            Some(url) => host_of(url) == host,
            None => allows_unbound,
        });
        usable
            .filter(|entry| entry.auth_type() == "api_key" || login_server(pool_key).is_some())
            .filter_map(|entry| Some((entry.secret()?, entry.clone())))
            .collect()
    };
    let listed = entries_of(&file);
    let mut keys = keys_of(&listed);
    // Used only by who has said so. Copies of it in the list are void as soon as it is renewed.
    if pool_key == QwenLogin::PROVIDER
        && let Some(url) = login_address(config, pool_key).filter(|url| host_of(url) == host)
        && let Some(login) = QwenLogin::find(config)
    {
        let entry = login.entry(&url);
        keys.extend(entry.secret().map(|key| (key, entry)));
    }
    if let Some((source, secret)) = found {
        let known = listed.iter().find(|entry| entry.source() == source);
        let entry = known.cloned().unwrap_or_else(|| {
            let label = source.strip_prefix("env:").unwrap_or(&source).to_owned();
            let after = listed
                .iter()
                .map(CredentialEntry::priority)
                .max()
                .unwrap_or(-1)
                + 1;
            CredentialEntry::record(CredentialEntry::new_id(&listed), &label, &source, after)
        });
        if keys.iter().all(|(known, _)| *known != secret) {
            keys.push((secret, entry));
        }
    }
    let strategies = config.get("credential_pool_strategies");
    let strategy = strategies
        .and_then(|map| map.get(pool_key))
        .and_then(Value::as_str)
        .map(Strategy::parse)
        .unwrap_or_default();
    let mut inherited = Vec::new();
    if let Some(home) = inherited_home(config) {
        let owner = AuthFile::of_home(&home);
        for (secret, entry) in keys_of(&entries_of(&owner)) {
            if keys.iter().all(|(known, _)| *known != secret) {
                inherited.push((secret, entry, owner.clone()));
            }
        }
    }
    let stored = Some((file, pool_key.to_owned()));
    let own = keys.iter().map(|(_, entry)| entry);
    let mut all = own.chain(inherited.iter().map(|(_, entry, _)| entry));
    let has_login = all.any(|entry| entry.auth_type() == "oauth");
    let refresher =
        has_login.then(|| -> Arc<dyn TokenRefresher> { Arc::new(LoginRefresher::new(config)) });
    let exchange = exchange(config, pool_key);
    KeyRing::new(keys, inherited, strategy, stored, refresher, exchange)
}

/// The home of the default profile, if its keys serve this profile as well.
fn inherited_home(config: &Config) -> Option<PathBuf> {
    let home = config.sources().default_home()?;
    config.flag("model.inherit_keys").then_some(home)
}

/// A usable key in a variable, and its source.
pub(super) fn from_variable(config: &Config, name: &str) -> Option<(String, SecretString)> {
    let name = name.trim();
    let inherited = || {
        let dotenv = DotEnv::load(&inherited_home(config)?.join(".env")).ok()?;
        dotenv.get(name).map(SecretString::new).filter(usable)
    };
    let key = config.secret(name).filter(usable).or_else(inherited)?;
    let key = SecretString::new(key.expose().trim());
    Some((format!("env:{name}"), key))
}

fn usable(key: &SecretString) -> bool {
    is_usable_secret(key.expose())
}
