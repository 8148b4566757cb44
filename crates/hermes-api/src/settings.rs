//! What the settings say about the server: whether it is on, where it listens, who may use it.

use std::net::IpAddr;

use hermes_config::Config;
use hermes_home::profiles::gateway_port;
use hermes_runtime::Context;
use hermes_secret::SecretString;
use serde_json::Value;

const DEFAULT_HOST: &str = "127.0.0.1";
const DEFAULT_PORT: i64 = 8642;
const DEFAULT_MODEL: &str = "hermes-agent";
/// Shorter keys can be guessed.
const LEAST_KEY: usize = 8;
/// Keys from this length on are as good as any.
const GOOD_KEY: usize = 16;
/// Keys that stand in examples.
const PLACEHOLDERS: &[&str] = &[
    "changeme",
    "change-me",
    "change_me",
    "dummy",
    "example",
    "none",
    "null",
    "password",
    "placeholder",
    "secret",
    "test",
    "undefined",
    "your-api-key",
    "your_api_key",
    "yourapikey",
    "your-key-here",
    "your_key_here",
];

/// A further name under which clients can ask for a model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ModelRoute {
    pub(crate) alias: String,
    pub(crate) model: String,
    pub(crate) provider: Option<String>,
    pub(crate) base_url: Option<String>,
    pub(crate) api_key: Option<SecretString>,
}

/// Which pages may use the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Origins {
    Any,
    These(Vec<String>),
}

impl Origins {
    pub(crate) fn allow(&self, origin: &str) -> bool {
        match self {
            Self::Any => true,
            Self::These(known) => known.iter().any(|one| one == origin),
        }
    }

    pub(crate) fn are_none(&self) -> bool {
        matches!(self, Self::These(known) if known.is_empty())
    }
}

/// What the server is started with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApiSettings {
    /// Address to listen on.
    pub host: String,
    /// Port to listen on; 0 lets the system choose one.
    pub port: u16,
    pub(crate) key: SecretString,
    pub(crate) origins: Origins,
    pub(crate) model_name: String,
    pub(crate) routes: Vec<ModelRoute>,
    /// Turns at once; `None` means any number.
    pub(crate) max_turns: Option<usize>,
    pub(crate) cache_bytes: usize,
    /// What will surprise, one line each.
    pub warnings: Vec<String>,
}

/// Why the server is not started.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    #[error(
        "the API server needs a key: set API_SERVER_KEY in .env to at least {GOOD_KEY} random characters"
    )]
    NoKey,
    #[error(
        "the key of the API server has {length} characters, at least {least} are needed; set a longer API_SERVER_KEY"
    )]
    ShortKey { length: usize, least: usize },
    #[error(
        "the key of the API server is a placeholder; set API_SERVER_KEY to random characters, for example the output of `openssl rand -hex 32`"
    )]
    PlaceholderKey,
    #[error(
        "the API server cannot listen on port {0}; set API_SERVER_PORT to a number from 1 to 65535"
    )]
    Port(i64),
}

impl ApiSettings {
    /// The settings of a profile; `None` if its server is off.
    pub fn resolve(context: &Context) -> Result<Option<Self>, SettingsError> {
        let config = context.config();
        let key = config.secret("API_SERVER_KEY");
        let key = key.or_else(|| {
            let written = config.text("platforms.api_server.extra.key");
            (!written.is_empty()).then(|| SecretString::new(written))
        });
        let is_on = config.get("platforms.api_server.enabled");
        let is_on = is_on.and_then(Value::as_bool).unwrap_or(key.is_some());
        if !is_on {
            return Ok(None);
        }
        let mut warnings = Vec::new();
        let key = key.ok_or(SettingsError::NoKey)?;
        check_key(key.expose().trim(), least_key(config), &mut warnings)?;
        let port = config.int("platforms.api_server.extra.port");
        let port = port.unwrap_or_else(|| default_port(context));
        let port = match u16::try_from(port) {
            Ok(port) if port > 0 => port,
            Ok(_) | Err(_) => return Err(SettingsError::Port(port)),
        };
        let host = match config.text("platforms.api_server.extra.host").trim() {
            "" => DEFAULT_HOST,
            host => host,
        };
        if !is_loopback(host) && ["", "local"].contains(&config.text("terminal.backend")) {
            warnings.push(format!(
                "the API server listens on {host}: whoever has its key can let commands run on this \
                 machine (terminal.backend is local)"
            ));
        }
        let max_turns = config.int("gateway.api_server.max_concurrent_runs");
        let max_turns = max_turns.and_then(|most| usize::try_from(most).ok());
        let cache = config.int("gateway.agent_cache_mb").unwrap_or_default();
        Ok(Some(Self {
            host: host.to_owned(),
            port,
            key: SecretString::new(key.expose().trim()),
            origins: origins(config.get("platforms.api_server.extra.cors_origins")),
            model_name: model_name(context),
            routes: routes(config.get("platforms.api_server.extra.model_routes")),
            max_turns: max_turns.filter(|most| *most > 0),
            cache_bytes: usize::try_from(cache).unwrap_or_default() << 20,
            warnings,
        }))
    }

    /// For a surface of the same process that asks for runs: there is nothing to listen on.
    pub(crate) fn embedded(context: &Context) -> Self {
        let config = context.config();
        let cache = config.int("gateway.agent_cache_mb").unwrap_or_default();
        Self {
            host: DEFAULT_HOST.to_owned(),
            port: 0,
            // Nobody is told it, so nobody has it.
            key: SecretString::new(hermes_fs::random_hex(64)),
            origins: Origins::These(Vec::new()),
            model_name: model_name(context),
            routes: Vec::new(),
            max_turns: None,
            cache_bytes: usize::try_from(cache).unwrap_or_default() << 20,
            warnings: Vec::new(),
        }
    }

    /// Whether only this machine can connect.
    pub(crate) fn is_loopback(&self) -> bool {
        is_loopback(&self.host)
    }

    /// The route that a client's `model` names.
    pub(crate) fn route(&self, model: Option<&str>) -> Option<&ModelRoute> {
        let model = model?;
        self.routes.iter().find(|route| route.alias == model)
    }
}

/// The port of a profile for which nobody chose one. Named profiles have their own: all of them would
/// fight for the one that everybody knows.
fn default_port(context: &Context) -> i64 {
    let profile = context.location.profile_name();
    let port = profile.and_then(|profile| gateway_port(&context.location, &profile));
    port.map_or(DEFAULT_PORT, i64::from)
}

fn least_key(config: &Config) -> usize {
    let least = config.int("gateway.api_server.min_key_length");
    let least = least.and_then(|least| usize::try_from(least).ok());
    least.unwrap_or_default().max(LEAST_KEY)
}

fn check_key(key: &str, least: usize, warnings: &mut Vec<String>) -> Result<(), SettingsError> {
    let lower = key.to_lowercase();
    let is_stars = !key.is_empty() && key.chars().all(|letter| "*xX.-".contains(letter));
    let length = key.chars().count();
    if key.is_empty() {
        return Err(SettingsError::NoKey);
    }
    if is_stars || PLACEHOLDERS.contains(&lower.as_str()) {
        return Err(SettingsError::PlaceholderKey);
    }
    if length < least {
        return Err(SettingsError::ShortKey { length, least });
    }
    if length < GOOD_KEY {
        warnings.push(format!(
            "the key of the API server has only {length} characters; {GOOD_KEY} random ones cannot be \
             guessed"
        ));
    }
    Ok(())
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare
            .parse::<IpAddr>()
            .is_ok_and(|address| address.is_loopback())
}

fn origins(value: Option<&Value>) -> Origins {
    let texts: Vec<String> = match value {
        Some(Value::Array(items)) => items
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        Some(Value::String(text)) => text.split(',').map(str::to_owned).collect(),
        _ => Vec::new(),
    };
    let texts: Vec<String> = texts
        .iter()
        .map(|text| text.trim().trim_end_matches('/').to_owned())
        .filter(|text| !text.is_empty())
        .collect();
    if texts.iter().any(|text| text == "*") {
        Origins::Any
    } else {
        Origins::These(texts)
    }
}

fn model_name(context: &Context) -> String {
    let written = context
        .config()
        .text("platforms.api_server.extra.model_name")
        .trim();
    if !written.is_empty() {
        return written.to_owned();
    }
    match &context.current {
        Some(profile) if profile.as_str() != "default" => profile.to_string(),
        Some(_) | None => DEFAULT_MODEL.to_owned(),
    }
}

fn routes(value: Option<&Value>) -> Vec<ModelRoute> {
    let Some(Value::Object(routes)) = value else {
        return Vec::new();
    };
    let text = |route: &Value, name: &str| {
        let text = route.get(name).and_then(Value::as_str).map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let named = routes.iter().filter_map(|(alias, route)| {
        Some(ModelRoute {
            alias: alias.clone(),
            model: text(route, "model")?,
            provider: text(route, "provider"),
            base_url: text(route, "base_url"),
            api_key: text(route, "api_key").map(SecretString::new),
        })
    });
    named.collect()
}

#[cfg(test)]
#[path = "settings_tests.rs"]
mod tests;
