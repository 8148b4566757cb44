//! Opens the provider chosen by settings and flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_config::{Config, vars};
use hermes_http::HttpSettings;

use super::choose::choice;
use super::fallback::chain;
use super::overrides::ModelOverrides;
use super::registry::builtin;
use super::resolve::{ResolvedRoute, RouteChoice, resolve};
use super::settings::Route;
use crate::chain::{Chain, ChainRoute, ReplayRetries};
use crate::context::{StatedWindow, UNKNOWN_WINDOW, WindowCache, family_window, fetch_only_model};
use crate::endpoint::{Endpoint, RequestDump};
use crate::http::Transport;
use crate::provider::Provider;
use crate::replay::{Replay, ReplayScript, ScriptError};

/// Why no provider could be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is configured and no key is set.
    #[error("no model provider is configured")]
    NothingConfigured,
    /// No provider has this name.
    #[error("no such provider: `{name}`")]
    UnknownProvider {
        /// The name.
        name: String,
    },
    /// A custom provider has no address.
    #[error("the provider `custom` needs an address")]
    NoAddress,
    /// The address is invalid.
    #[error("`{url}` is not an HTTP address")]
    BadAddress {
        /// The address without its query.
        url: String,
    },
    /// No model is set.
    #[error("no model is set for the provider `{provider}`")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The provider needs a key.
    #[error("no key is set for {provider} ({host})")]
    NoKey {
        /// The provider.
        provider: String,
        /// The host the key would go to.
        host: String,
        /// Variables that may contain it.
        variables: &'static [&'static str],
    },
    /// An entry of the fallback chain has no provider or no model.
    #[error("it has no provider or no model")]
    IncompleteFallback,
    /// The replay provider needs a script.
    #[error("the provider `replay` needs a script")]
    NoScript,
    /// The script cannot be played.
    #[error(transparent)]
    ReplayScript(#[from] ScriptError),
}

impl OpenError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::NothingConfigured => {
                "run `hermes model`, or set OPENROUTER_API_KEY in `.env`".to_owned()
            }
            Self::UnknownProvider { .. } => {
                "list the providers with `hermes model`, check them with `hermes doctor`".to_owned()
            }
            Self::NoAddress => "set `model.base_url`".to_owned(),
            Self::BadAddress { .. } => {
                "an address starts with http:// or https:// and a host".to_owned()
            }
            Self::NoModel { .. } => "choose one with `-m` or set `model.default`".to_owned(),
            Self::NoKey {
                provider,
                variables,
                ..
            } => format!(
                "set {} in `.env`, set `model.key_env`, or run `hermes auth add {provider}`",
                variables.first().copied().unwrap_or("the key")
            ),
            Self::IncompleteFallback => {
                "write each entry as a mapping with `provider` and `model`".to_owned()
            }
            Self::NoScript => "set `model.script` to a file with turns".to_owned(),
            Self::ReplayScript(error) => error.hint().to_owned(),
        }
    }
}

/// Timeout for asking a local server for its model.
const MODEL_NAME_TIMEOUT: Duration = Duration::from_secs(2);

/// The provider chosen by settings and flags. Makes no request, except to a local server if no model
/// is set: its only model is used.
pub fn open(config: &Config, overrides: &ModelOverrides) -> Result<Arc<dyn Provider>, OpenError> {
    let choice = choice(config, overrides);
    if choice.provider.as_deref() == Some(Replay::ID) {
        return Ok(Arc::new(open_replay(config, &choice, attempts(config))?));
    }
    let transport = Transport::new(HttpSettings::resolve(config));
    let primary = match resolve(config, &choice) {
        Err(error @ OpenError::NoModel { .. }) => {
            only_local_model(config, &choice, &transport).ok_or(error)
        }
        other => other,
    };
    let rest = chain(config, primary.as_ref().ok());
    let first = match primary {
        Ok(first) => Some(first),
        Err(error) if !rest.is_empty() => {
            tracing::warn!("{error}; using the fallback chain");
            None
        }
        Err(error) => return Err(error),
    };
    let routes = first.into_iter().chain(rest).collect();
    Ok(Arc::new(assemble(config, routes, &transport)))
}

/// Routes for a side task as one provider: whole answers, no look at windows.
pub(super) fn auxiliary_chain(config: &Config, routes: Vec<ResolvedRoute>, attempts: u32) -> Chain {
    let transport = Transport::new(HttpSettings::resolve(config));
    let cache = WindowCache::of_home(&config.sources().home);
    let legs = routes.into_iter().map(|found| {
        let (window, _) = window(&found.route, &cache);
        let endpoint = Endpoint::new(found.route, Arc::clone(&transport), window);
        ChainRoute {
            endpoint: Arc::new(endpoint.without_streaming()),
            keys: found.keys,
            window_is_guessed: false,
        }
    });
    Chain::new(legs.collect(), attempts, cache.clone()).for_auxiliary_tasks()
}

/// Routes with their keys as one provider.
fn assemble(config: &Config, routes: Vec<ResolvedRoute>, transport: &Arc<Transport>) -> Chain {
    let cache = WindowCache::of_home(&config.sources().home);
    let dump = RequestDump::if_enabled(config).map(Arc::new);
    let legs = routes.into_iter().map(|found| {
        let (stated, window_is_guessed) = window(&found.route, &cache);
        let endpoint =
            Endpoint::new(found.route, Arc::clone(transport), stated).with_dump(dump.clone());
        ChainRoute {
            endpoint: Arc::new(endpoint),
            keys: found.keys,
            window_is_guessed,
        }
    });
    Chain::new(legs.collect(), attempts(config), cache)
}

/// Attempts per route.
fn attempts(config: &Config) -> u32 {
    let attempts = config.int("agent.api_max_retries").unwrap_or(3).max(1);
    u32::try_from(attempts).unwrap_or(3)
}

/// The route for the only model of a local server.
fn only_local_model(
    config: &Config,
    choice: &RouteChoice,
    transport: &Transport,
) -> Option<ResolvedRoute> {
    let named = |model: String| RouteChoice {
        model: Some(model),
        ..choice.clone()
    };
    // A placeholder until the server has named its model.
    let found = resolve(config, &named("any".to_owned())).ok()?;
    if !found.route.is_local() {
        return None;
    }
    let lease = found.keys.lease();
    let key = lease.as_ref().and_then(|lease| lease.secret.as_ref());
    let model = fetch_only_model(transport, &found.route, key, MODEL_NAME_TIMEOUT)?;
    resolve(config, &named(model)).ok()
}

/// The context window from settings, cache, model family or a guess, and whether to ask the server
/// for it. Known vendors are not asked about known families.
fn window(route: &Route, cache: &WindowCache) -> (StatedWindow, bool) {
    let configured = route.context_length.map(StatedWindow::of);
    let stated = configured.or_else(|| cache.get(&route.model, &route.base_url));
    let family = family_window(&route.model);
    match stated {
        Some(stated) => (stated, false),
        None => {
            let is_own_server = builtin(&route.provider).is_none() || route.is_local();
            let guessed = is_own_server || family.is_none();
            (StatedWindow::of(family.unwrap_or(UNKNOWN_WINDOW)), guessed)
        }
    }
}

pub(super) fn open_replay(
    config: &Config,
    choice: &RouteChoice,
    attempts: u32,
) -> Result<ReplayRetries<Replay>, OpenError> {
    let script = config.text("model.script").trim();
    if script.is_empty() {
        return Err(OpenError::NoScript);
    }
    let script = ReplayScript::load(&script_path(config, script))?;
    let model = choice.model.as_deref().or(config.model().0);
    Ok(ReplayRetries::new(Replay::new(script, model), attempts))
}

/// Relative paths start at the home of the profile, `~/` is the user's home.
fn script_path(config: &Config, written: &str) -> PathBuf {
    let sources = config.sources();
    let user = written.strip_prefix("~/");
    match (user, sources.env.text(&vars::HOME)) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => sources.home.join(written),
    }
}
