//! Opens the provider chosen by settings and flags.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_config::{Config, vars};
use hermes_http::HttpSettings;

use super::choose::choice;
use super::error::OpenError;
use super::fallback::chain;
use super::overrides::ModelOverrides;
use super::registry::{COPILOT, builtin};
use super::resolve::{ResolvedRoute, RouteChoice, resolve};
use crate::chain::{Chain, ChainRoute, FallbackPolicy, ReplayRetries};
use crate::context::{ModelServer, StatedWindow, UNKNOWN_WINDOW, WindowCache, family_window};
use crate::endpoint::{Endpoint, RequestDump};
use crate::http::Transport;
use crate::provider::Provider;
use crate::replay::{Replay, ReplayScript};
use crate::route::Route;

/// Timeout for asking a local server for its model.
const MODEL_NAME_TIMEOUT: Duration = Duration::from_secs(2);

/// The provider chosen by settings and flags. Makes no request, except to a local server if no model
/// is set: its only model is used.
pub fn open(config: &Config, overrides: &ModelOverrides) -> Result<Arc<dyn Provider>, OpenError> {
    open_choice(config, &choice(config, overrides))
}

/// The provider of a choice, with the fallback chain behind it.
pub(super) fn open_choice(
    config: &Config,
    choice: &RouteChoice,
) -> Result<Arc<dyn Provider>, OpenError> {
    if choice.provider.as_deref() == Some(Replay::ID) {
        return Ok(Arc::new(open_replay(config, choice, attempts(config))?));
    }
    let transport = Transport::shared(HttpSettings::resolve(config));
    let primary = match resolve(config, choice) {
        Err(error @ OpenError::NoModel { .. }) => {
            only_local_model(config, choice, &transport).ok_or(error)
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

/// Routes with their keys as one provider.
fn assemble(config: &Config, routes: Vec<ResolvedRoute>, transport: &Arc<Transport>) -> Chain {
    let cache = WindowCache::of_home(&config.sources().home);
    let dump = RequestDump::if_enabled(config).map(Arc::new);
    let routes = routes.into_iter().map(|found| {
        let (stated, window_is_guessed) = window(&found.route, &cache);
        let endpoint = Endpoint::new(found.route, Arc::clone(transport), stated, dump.clone());
        ChainRoute {
            endpoint: Arc::new(endpoint),
            keys: found.keys,
            window_is_guessed,
        }
    });
    let routes = routes.collect();
    Chain::new(routes, attempts(config), cache, FallbackPolicy::Always)
}

/// Routes for an auxiliary task as one provider: whole answers, no requests for windows.
pub(super) fn auxiliary_chain(config: &Config, routes: Vec<ResolvedRoute>, attempts: u32) -> Chain {
    let transport = Transport::shared(HttpSettings::resolve(config));
    let cache = WindowCache::of_home(&config.sources().home);
    let routes = routes.into_iter().map(|found| {
        let (stated, _) = window(&found.route, &cache);
        let endpoint = Endpoint::new(found.route, Arc::clone(&transport), stated, None);
        endpoint.stop_streaming();
        ChainRoute {
            endpoint: Arc::new(endpoint),
            keys: found.keys,
            window_is_guessed: false,
        }
    });
    let routes = routes.collect();
    Chain::new(routes, attempts, cache, FallbackPolicy::BillingOnly)
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
    let key = lease.as_ref().map(|lease| &lease.secret);
    let server = ModelServer {
        transport,
        route: &found.route,
        key,
        timeout: MODEL_NAME_TIMEOUT,
    };
    resolve(config, &named(server.only_model()?)).ok()
}

/// The context window from settings, cache, model family or a guess, and whether to ask the server
/// for it. Known vendors are not asked about known families.
fn window(route: &Route, cache: &WindowCache) -> (StatedWindow, bool) {
    let configured = route.context_length.map(StatedWindow::of);
    if let Some(stated) = configured.or_else(|| cache.get(&route.model, &route.base_url)) {
        return (stated, false);
    }
    let family = family_window(&route.model);
    // Copilot serves the families of others with windows of its own.
    let is_own_server =
        builtin(&route.provider).is_none() || route.is_local() || route.provider == COPILOT;
    let is_guessed = is_own_server || family.is_none();
    let window = family.unwrap_or(UNKNOWN_WINDOW);
    (StatedWindow::of(window), is_guessed)
}

pub(super) fn open_replay(
    config: &Config,
    choice: &RouteChoice,
    max_attempts: u32,
) -> Result<ReplayRetries, OpenError> {
    let script = config.text("model.script").trim();
    if script.is_empty() {
        return Err(OpenError::NoScript);
    }
    let script = ReplayScript::load(&script_path(config, script))?;
    let model = choice.model.as_deref().or(config.model().0);
    Ok(ReplayRetries {
        replay: Replay::new(script, model),
        max_attempts,
    })
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
