//! Models for auxiliary tasks such as titles and summaries, and for sub-agents.
//!
//! An auxiliary task does not stream, has its own timeout and does not look up context windows. It
//! never uses the fallback chain of the conversation, and a key goes only to hosts it would go to in
//! a conversation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_config::{Config, vars};
use hermes_secret::SecretString;
use serde_json::Value;

use super::choose::choice;
use super::delegation;
use super::error::OpenError;
use super::open::{auxiliary_chain, open_replay};
use super::overrides::ModelOverrides;
use super::registry::BUILTINS;
use super::resolve::{ResolvedRoute, RouteChoice, parse_effort, resolve, variable};
use crate::provider::Provider;
use crate::replay::Replay;
use crate::request::AuxiliaryTask;

/// Longest accepted timeout, in seconds.
const MAX_TIMEOUT: f64 = 86_400.0;
/// Default number of retries after a transient error.
const TRANSIENT_RETRIES: i64 = 2;

/// Models for auxiliary tasks of providers that no setting names.
const FALLBACK_MODELS: &[(&str, &str)] = &[
    ("openrouter", "google/gemini-3-flash-preview"),
    ("anthropic", "claude-haiku-4-5-20251001"),
    ("gemini", "gemini-3-flash-preview"),
    ("zai", "glm-4.5-flash"),
    ("kimi-coding", "kimi-k2-turbo-preview"),
    ("kimi-coding-cn", "kimi-k2-turbo-preview"),
    ("minimax", "MiniMax-M2.7"),
    ("minimax-cn", "MiniMax-M2.7"),
    ("ollama-cloud", "nemotron-3-nano:30b"),
];

/// The route in `auxiliary.<task>`.
fn own_route(own: &Value) -> ModelOverrides {
    let text = |key: &str| {
        let text = own[key].as_str()?.trim();
        (!text.is_empty() && !text.eq_ignore_ascii_case("auto")).then(|| text.to_owned())
    };
    let base_url = text("base_url");
    let custom = base_url.as_ref().map(|_| "custom".to_owned());
    ModelOverrides {
        provider: text("provider").or(custom),
        model: text("model"),
        base_url,
        api_key: text("api_key").map(SecretString::from),
    }
}

/// What counts instead of the settings of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
struct Instead {
    model: Option<String>,
    timeout: Option<Duration>,
}

/// Models for auxiliary tasks, each opened when first needed.
///
/// Unless `auxiliary.<task>` names a provider or address, a task uses the provider of the
/// conversation, and other providers with a key only when an account has no credit.
pub struct AuxiliaryModels {
    config: Config,
    main: ModelOverrides,
    opened: Mutex<HashMap<(AuxiliaryTask, Instead), Arc<dyn Provider>>>,
    /// The model of sub-agents, once it was opened.
    delegated: Mutex<Option<Arc<dyn Provider>>>,
}

impl AuxiliaryModels {
    /// `main` are the command line overrides of the conversation.
    pub fn new(config: &Config, main: ModelOverrides) -> Self {
        Self {
            config: config.clone(),
            main,
            opened: Mutex::default(),
            delegated: Mutex::default(),
        }
    }

    /// The provider for a task. Makes no request.
    pub fn open(&self, task: AuxiliaryTask) -> Result<Arc<dyn Provider>, OpenError> {
        self.open_instead(task, Instead::default())
    }

    /// The same with another model than the settings of the task name, if one is given, and this
    /// timeout. Both come from settings, so that there are few of them.
    pub fn open_with(
        &self,
        task: AuxiliaryTask,
        model: Option<&str>,
        timeout: Duration,
    ) -> Result<Arc<dyn Provider>, OpenError> {
        let instead = Instead {
            model: model.map(str::to_owned),
            timeout: Some(timeout),
        };
        self.open_instead(task, instead)
    }

    fn open_instead(
        &self,
        task: AuxiliaryTask,
        instead: Instead,
    ) -> Result<Arc<dyn Provider>, OpenError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (task, instead);
        if let Some(provider) = opened.get(&key) {
            return Ok(Arc::clone(provider));
        }
        let provider = open(&self.config, &self.main, task, &key.1)?;
        opened.insert(key, Arc::clone(&provider));
        Ok(provider)
    }

    /// The provider of sub-agents, if `delegation` names another one than that of the conversation.
    /// Makes no request.
    pub fn open_delegated(&self) -> Result<Option<Arc<dyn Provider>>, OpenError> {
        let delegated = self.delegated.lock();
        let mut delegated = delegated.unwrap_or_else(PoisonError::into_inner);
        if delegated.is_none() {
            *delegated = delegation::open(&self.config, &self.main)?;
        }
        Ok(delegated.clone())
    }
}

impl std::fmt::Debug for AuxiliaryModels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AuxiliaryModels").finish_non_exhaustive()
    }
}

fn open(
    config: &Config,
    main: &ModelOverrides,
    task: AuxiliaryTask,
    instead: &Instead,
) -> Result<Arc<dyn Provider>, OpenError> {
    let own = config
        .get("auxiliary")
        .and_then(|all| all.get(task.name()))
        .unwrap_or(&Value::Null);
    let mut settings = own_route(own);
    settings.model = instead.model.clone().or(settings.model);
    let has_own_route = settings.provider.is_some();
    let first = first_choice(config, main, settings);
    let attempts = attempts(config);
    if first.provider.as_deref() == Some(Replay::ID) {
        return Ok(Arc::new(open_replay(config, &first, attempts)?));
    }
    let found = resolve(config, &first);
    let mut routes = Vec::new();
    if has_own_route {
        routes.push(found?);
    } else {
        let rest = fallback_routes(config, &first);
        match found {
            Ok(found) => routes.push(found),
            Err(error) if rest.is_empty() => return Err(error),
            Err(error) => tracing::info!("{error}; using another provider for auxiliary tasks"),
        }
        for other in rest {
            if !routes.iter().any(|one| one.route.is_same(&other.route)) {
                routes.push(other);
            }
        }
    }
    let timeout = instead.timeout.unwrap_or_else(|| timeout(own, task));
    let effort = own["reasoning_effort"].as_str().and_then(parse_effort);
    for found in &mut routes {
        let route = &mut found.route;
        route.effort = effort;
        route.timeouts.request = timeout;
        route.timeouts.read = timeout;
        route.timeouts.whole = Some(timeout);
        // Only `auxiliary.transient_retries` counts.
        route.timeouts.reconnects = 0;
        if let Some(extra) = own["extra_body"].as_object() {
            route.extra_body.extend(extra.clone());
        }
    }
    Ok(Arc::new(auxiliary_chain(config, routes, attempts)))
}

/// The route of the task's own settings, or of the conversation if they name none.
fn first_choice(config: &Config, main: &ModelOverrides, mut own: ModelOverrides) -> RouteChoice {
    let own_key = own.api_key.take();
    let wanted = if own.provider.is_some() {
        own
    } else {
        ModelOverrides {
            model: own.model.or_else(|| main.model.clone()),
            ..main.clone()
        }
    };
    let mut choice = choice(config, &wanted);
    choice.given_key.api_key = own_key.or(choice.given_key.api_key);
    choice
}

/// Fallback providers: OpenRouter, a custom endpoint, Anthropic, then any other with a key.
fn fallback_routes(config: &Config, first: &RouteChoice) -> Vec<ResolvedRoute> {
    let known = |id: &'static str| {
        let model = FALLBACK_MODELS.iter().find(|(name, _)| *name == id)?.1;
        Some(RouteChoice {
            provider: Some(id.to_owned()),
            model: Some(model.to_owned()),
            ..RouteChoice::default()
        })
    };
    let own = || {
        let model = first.model.clone();
        Some(RouteChoice {
            provider: Some("custom".to_owned()),
            model: Some(model.or_else(|| config.model().0.map(str::to_owned))?),
            base_url: Some(variable(config, vars::CUSTOM_BASE_URL.name)?),
            ..RouteChoice::default()
        })
    };
    let others = BUILTINS
        .iter()
        .map(|builtin| builtin.id)
        .filter(|id| !["openrouter", "anthropic"].contains(id));
    let choices = [known("openrouter"), own(), known("anthropic")]
        .into_iter()
        .chain(others.map(known));
    let found = choices
        .flatten()
        .filter_map(|one| resolve(config, &one).ok());
    // Only a custom endpoint works without a key.
    found
        .filter(|one| one.keys.len() > 0 || one.route.provider == "custom")
        .collect()
}

fn attempts(config: &Config) -> u32 {
    let retries = config
        .int("auxiliary.transient_retries")
        .unwrap_or(TRANSIENT_RETRIES);
    u32::try_from(retries.max(0)).unwrap_or(0).saturating_add(1)
}

fn timeout(own: &Value, task: AuxiliaryTask) -> Duration {
    let seconds = own["timeout"].as_f64();
    match seconds.filter(|seconds| (0.001..MAX_TIMEOUT).contains(seconds)) {
        Some(seconds) => Duration::from_secs_f64(seconds),
        None => task.default_timeout(),
    }
}
