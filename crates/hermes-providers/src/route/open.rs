//! Opening the provider that settings and flags ask for.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_config::{Config, vars};

use super::choose::choice;
use super::fallback::chain;
use super::registry::builtin;
use super::resolve::{Choice, Resolved, resolve};
use super::settings::Route;
use super::wanted::Wanted;
use crate::chain::{Chain, Leg, Patient};
use crate::context::{UNKNOWN_WINDOW, WindowCache, family_window, fetch_only_model};
use crate::endpoint::Endpoint;
use crate::http::{Transport, TransportSettings};
use crate::provider::Provider;
use crate::replay::{Replay, Script, ScriptError};

/// Why there is nothing to ask.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// Nothing is configured and no key is set.
    #[error("no model provider is configured")]
    NothingConfigured,
    /// There is no provider of that name.
    #[error("there is no provider `{name}`")]
    UnknownProvider {
        /// As it was given.
        name: String,
    },
    /// A provider of the user's own has no address.
    #[error("the provider `custom` needs an address")]
    NoAddress,
    /// An address that is none.
    #[error("`{url}` is not an HTTP address")]
    BadAddress {
        /// As it was given, without its query.
        url: String,
    },
    /// No model is named.
    #[error("no model is named for the provider `{provider}`")]
    NoModel {
        /// The provider.
        provider: String,
    },
    /// The provider needs a key.
    #[error("there is no key for {provider} ({host})")]
    NoKey {
        /// The provider.
        provider: String,
        /// The host the key would go to.
        host: String,
        /// Where it is looked for.
        variables: &'static [&'static str],
    },
    /// An entry of the fallback chain lacks its provider or its model.
    #[error("it names no provider, or no model")]
    IncompleteFallback,
    /// The replay provider needs a script.
    #[error("the provider `replay` needs a script")]
    NoScript,
    /// The script cannot be played.
    #[error(transparent)]
    Script(#[from] ScriptError),
}

impl OpenError {
    /// What the user can do.
    pub fn hint(&self) -> String {
        match self {
            Self::NothingConfigured => {
                "run `hermes model`, or set OPENROUTER_API_KEY in `.env`".to_owned()
            }
            Self::UnknownProvider { .. } => {
                "`hermes model` lists what there is; `hermes doctor` checks it".to_owned()
            }
            Self::NoAddress => "set `model.base_url`".to_owned(),
            Self::BadAddress { .. } => {
                "an address begins with http:// or https:// and a host".to_owned()
            }
            Self::NoModel { .. } => "name one with `-m` or set `model.default`".to_owned(),
            Self::NoKey {
                provider,
                variables,
                ..
            } => format!(
                "set {} in `.env`, `model.key_env`, or run `hermes auth add {provider}`",
                variables.first().copied().unwrap_or("the key")
            ),
            Self::IncompleteFallback => {
                "an entry is a mapping with `provider` and `model`".to_owned()
            }
            Self::NoScript => "set `model.script` to a file of turns".to_owned(),
            Self::Script(error) => error.hint().to_owned(),
        }
    }
}

/// How long a local server may take to name its model.
const NAMING_LIMIT: Duration = Duration::from_secs(2);

/// The provider that settings and flags ask for. No request is made, except to a local server when no
/// model is named: if it serves a single one, that is meant.
pub fn open(config: &Config, wanted: &Wanted) -> Result<Arc<dyn Provider>, OpenError> {
    let choice = choice(config, wanted);
    if choice.provider.as_deref() == Some(Replay::ID) {
        return Ok(Arc::new(open_replay(config, &choice, attempts(config))?));
    }
    let transport = Transport::new(TransportSettings::resolve(config));
    let primary = match resolve(config, &choice) {
        Err(error @ OpenError::NoModel { .. }) => {
            only_local_model(config, &choice, &transport).ok_or(error)
        }
        other => other,
    };
    let rest = chain(config, primary.as_ref().ok());
    let first = match primary {
        Ok(first) => Some(first),
        // Another route may still answer.
        Err(error) if !rest.is_empty() => {
            tracing::warn!("{error}; the fallback chain answers");
            None
        }
        Err(error) => return Err(error),
    };
    let routes = first.into_iter().chain(rest).collect();
    Ok(Arc::new(assemble(config, routes, &transport)))
}

/// Routes for a side task as one provider: whole answers, no look at windows.
pub(super) fn side_chain(config: &Config, routes: Vec<Resolved>, attempts: u32) -> Chain {
    let transport = Transport::new(TransportSettings::resolve(config));
    let cache = WindowCache::of_home(&config.sources().home);
    let legs = routes.into_iter().map(|found| {
        let (window, _) = window(&found.route, &cache);
        let endpoint = Endpoint::new(found.route, Arc::clone(&transport), window);
        Leg {
            endpoint: Arc::new(endpoint.without_streaming()),
            keys: found.keys,
            window_is_guessed: false,
        }
    });
    Chain::new(legs.collect(), attempts, cache.clone()).for_side_tasks()
}

/// Routes and their keys as one provider.
fn assemble(config: &Config, routes: Vec<Resolved>, transport: &Arc<Transport>) -> Chain {
    let cache = WindowCache::of_home(&config.sources().home);
    let legs = routes.into_iter().map(|found| {
        let (window, window_is_guessed) = window(&found.route, &cache);
        let endpoint = Endpoint::new(found.route, Arc::clone(transport), window);
        Leg {
            endpoint: Arc::new(endpoint),
            keys: found.keys,
            window_is_guessed,
        }
    });
    Chain::new(legs.collect(), attempts(config), cache)
}

/// How often one route is tried.
fn attempts(config: &Config) -> u32 {
    let attempts = config.int("agent.api_max_retries").unwrap_or(3).max(1);
    u32::try_from(attempts).unwrap_or(3)
}

/// The route to the only model of a local server.
fn only_local_model(config: &Config, choice: &Choice, transport: &Transport) -> Option<Resolved> {
    let named = |model: String| Choice {
        model: Some(model),
        ..choice.clone()
    };
    // A name for the moment; the server is asked before anything is said to a model.
    let found = resolve(config, &named("any".to_owned())).ok()?;
    if !found.route.is_local() {
        return None;
    }
    let lease = found.keys.lease();
    let key = lease.as_ref().and_then(|lease| lease.secret.as_ref());
    let model = fetch_only_model(transport, &found.route, key, NAMING_LIMIT)?;
    resolve(config, &named(model)).ok()
}

/// Settings, what was stated before, the family of the name, or a guess; and whether the server
/// could know better. The large vendors are not asked about families that are known.
fn window(route: &Route, cache: &WindowCache) -> (u64, bool) {
    let stated = route
        .context_length
        .or_else(|| cache.get(&route.model, &route.base_url));
    let family = family_window(&route.model);
    match stated {
        Some(window) => (window, false),
        None => {
            let is_own_server = builtin(&route.provider).is_none() || route.is_local();
            let guessed = is_own_server || family.is_none();
            (family.unwrap_or(UNKNOWN_WINDOW), guessed)
        }
    }
}

pub(super) fn open_replay(
    config: &Config,
    choice: &Choice,
    attempts: u32,
) -> Result<Patient<Replay>, OpenError> {
    let script = config.text("model.script").trim();
    if script.is_empty() {
        return Err(OpenError::NoScript);
    }
    let script = Script::load(&script_path(config, script))?;
    let model = choice.model.as_deref().or(config.model().0);
    Ok(Patient::new(Replay::new(script, model), attempts))
}

/// Relative paths start at the home of the profile, `~` is the user's.
fn script_path(config: &Config, written: &str) -> PathBuf {
    let sources = config.sources();
    let user = written.strip_prefix("~/");
    match (user, sources.env.text(&vars::HOME)) {
        (Some(below), Some(home)) => Path::new(home).join(below),
        _ => sources.home.join(written),
    }
}
