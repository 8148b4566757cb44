//! What a conversation would use, found without one: for `doctor`.

use std::time::Duration;

use hermes_config::Config;
use hermes_http::HttpSettings;

use super::choose::choice;
use super::error::OpenError;
use super::fallback::chain;
use super::open::open_replay;
use super::overrides::ModelOverrides;
use super::resolve::{ResolvedRoute, RouteChoice, resolve};
use crate::context::{ModelServer, ServerRefusal};
use crate::http::Transport;
use crate::replay::Replay;

/// How long a server may take to list its models.
const ONLINE_TIMEOUT: Duration = Duration::from_secs(15);

/// The route of a conversation that nobody overrides.
#[derive(Debug)]
pub struct RouteCheck {
    pub provider: String,
    /// Host of the API; empty if there is no network.
    pub host: String,
    /// The model; `None` where a local server is asked for its only one.
    pub model: Option<String>,
    /// Keys that may be used, exhausted or not.
    pub keys: usize,
    found: Option<ResolvedRoute>,
}

impl RouteCheck {
    /// Resolves the route from the settings. Makes no request.
    pub fn resolve(config: &Config) -> Result<Self, OpenError> {
        let choice = choice(config, &ModelOverrides::default());
        if choice.provider.as_deref() == Some(Replay::ID) {
            open_replay(config, &choice, 1)?;
            return Ok(Self {
                provider: Replay::ID.to_owned(),
                host: String::new(),
                model: config.model().0.map(str::to_owned),
                keys: 0,
                found: None,
            });
        }
        match resolve(config, &choice) {
            Ok(found) => Ok(Self::of(found, true)),
            Err(error @ OpenError::NoModel { .. }) => {
                let any = RouteChoice {
                    model: Some("any".to_owned()),
                    ..choice
                };
                let local = resolve(config, &any)
                    .ok()
                    .filter(|found| found.route.is_local());
                local.map(|found| Self::of(found, false)).ok_or(error)
            }
            Err(error) => Err(error),
        }
    }

    fn of(found: ResolvedRoute, model_is_set: bool) -> Self {
        Self {
            provider: found.route.provider.clone(),
            host: found.route.host.clone(),
            model: model_is_set.then(|| found.route.model.clone()),
            keys: found.keys.len(),
            found: Some(found),
        }
    }

    /// Asks the server for the names of its models, with the key that a conversation would use.
    /// `None` if there is no server.
    pub fn ask(&self, config: &Config) -> Option<Result<Vec<String>, ServerRefusal>> {
        let found = self.found.as_ref()?;
        let transport = Transport::new(HttpSettings::resolve(config));
        let lease = found.keys.lease();
        let server = ModelServer {
            transport: &transport,
            route: &found.route,
            key: lease.as_ref().map(|lease| &lease.secret),
            timeout: ONLINE_TIMEOUT,
        };
        Some(server.list().map(|models| {
            let names = models.into_iter().map(|model| model.name);
            names.collect()
        }))
    }
}

/// How many entries of the fallback chain could be used.
pub fn usable_fallbacks(config: &Config) -> usize {
    chain(config, None).len()
}
