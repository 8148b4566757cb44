//! Models for side tasks: who titles, summarises, judges. One way for all of them.
//!
//! A side task asks for a whole answer instead of a stream, within a time of its own, and without
//! looking up windows. It never uses the fallback chain of the conversation, and a key goes to no
//! other host than it would in a conversation.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use hermes_config::{Config, vars};
use hermes_secret::SecretString;
use serde_json::Value;

use super::choose::choice;
use super::open::{OpenError, open_replay, side_chain};
use super::registry::BUILTINS;
use super::resolve::{Choice, Resolved, resolve, variable};
use super::wanted::Wanted;
use crate::provider::Provider;
use crate::replay::Replay;
use crate::request::{Effort, SideTask};

/// Longest time a side task may be given.
const LONGEST: f64 = 86_400.0;
/// How often a question is asked again after an error that passes.
const TRANSIENT_RETRIES: i64 = 2;

/// Models that are good enough for side tasks, where a provider steps in that no setting names.
const STAND_INS: &[(&str, &str)] = &[
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

/// What `auxiliary.<task>` says.
#[derive(Debug, Default)]
struct Slot {
    provider: Option<String>,
    model: Option<String>,
    base_url: Option<String>,
    api_key: Option<SecretString>,
}

impl Slot {
    fn read(own: &Value) -> Self {
        let text = |key: &str| {
            let text = own[key].as_str()?.trim();
            (!text.is_empty() && !text.eq_ignore_ascii_case("auto")).then(|| text.to_owned())
        };
        Self {
            provider: text("provider"),
            model: text("model"),
            base_url: text("base_url"),
            api_key: text("api_key").map(SecretString::from),
        }
    }

    /// Whether it names a place of its own.
    fn is_elsewhere(&self) -> bool {
        self.provider.is_some() || self.base_url.is_some()
    }
}

/// Models for side tasks, each opened when it is first needed.
///
/// Unless `auxiliary.<task>` names a place of its own, a task is done where the conversation is held,
/// and by other providers with a key only once an account is empty.
pub struct SideModels {
    config: Config,
    main: Wanted,
    opened: Mutex<HashMap<SideTask, Arc<dyn Provider>>>,
}

impl SideModels {
    /// `main` is what the command line asks for in the conversation these tasks belong to.
    pub fn new(config: &Config, main: Wanted) -> Self {
        Self {
            config: config.clone(),
            main,
            opened: Mutex::default(),
        }
    }

    /// Who does a task. Makes no request.
    pub fn open(&self, task: SideTask) -> Result<Arc<dyn Provider>, OpenError> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(provider) = opened.get(&task) {
            return Ok(Arc::clone(provider));
        }
        let provider = open(&self.config, &self.main, task)?;
        opened.insert(task, Arc::clone(&provider));
        Ok(provider)
    }
}

impl std::fmt::Debug for SideModels {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SideModels").finish_non_exhaustive()
    }
}

fn open(config: &Config, main: &Wanted, task: SideTask) -> Result<Arc<dyn Provider>, OpenError> {
    let own = config
        .get("auxiliary")
        .and_then(|all| all.get(task.name()))
        .unwrap_or(&Value::Null);
    let slot = Slot::read(own);
    let first = first_choice(config, main, &slot);
    let attempts = attempts(config);
    if first.provider.as_deref() == Some(Replay::ID) {
        return Ok(Arc::new(open_replay(config, &first, attempts)?));
    }
    let found = resolve(config, &first);
    let mut routes = Vec::new();
    if slot.is_elsewhere() {
        routes.push(found?);
    } else {
        let rest = stand_ins(config, &first);
        match found {
            Ok(found) => routes.push(found),
            Err(error) if rest.is_empty() => return Err(error),
            Err(error) => tracing::info!("{error}; another provider does side tasks"),
        }
        for other in rest {
            if !routes.iter().any(|one| one.route.is_same(&other.route)) {
                routes.push(other);
            }
        }
    }
    let limit = limit(own, task);
    let effort = own["reasoning_effort"].as_str().and_then(Effort::parse);
    for found in &mut routes {
        let route = &mut found.route;
        route.effort = effort;
        route.timeouts.request = limit;
        route.timeouts.read = limit;
        route.timeouts.whole = Some(limit);
        // Asking again is counted by `auxiliary.transient_retries` alone.
        route.timeouts.reconnects = 0;
        if let Some(extra) = own["extra_body"].as_object() {
            route.extra_body.extend(extra.clone());
        }
    }
    Ok(Arc::new(side_chain(config, routes, attempts)))
}

fn first_choice(config: &Config, main: &Wanted, slot: &Slot) -> Choice {
    let wanted = if slot.is_elsewhere() {
        let custom = slot.base_url.as_ref().map(|_| "custom".to_owned());
        Wanted {
            provider: slot.provider.clone().or(custom),
            model: slot.model.clone(),
            base_url: slot.base_url.clone(),
            api_key: None,
        }
    } else {
        Wanted {
            model: slot.model.clone().or_else(|| main.model.clone()),
            ..main.clone()
        }
    };
    let mut choice = choice(config, &wanted);
    if let Some(key) = &slot.api_key {
        choice.given_key.api_key = Some(key.clone());
    }
    choice
}

/// Who may step in: OpenRouter, an endpoint of the user's own, Anthropic, and then whoever has a key.
fn stand_ins(config: &Config, first: &Choice) -> Vec<Resolved> {
    let known = |id: &'static str| {
        let model = STAND_INS.iter().find(|(name, _)| *name == id)?.1;
        Some(Choice {
            provider: Some(id.to_owned()),
            model: Some(model.to_owned()),
            ..Choice::default()
        })
    };
    let own = || {
        let model = first.model.clone();
        Some(Choice {
            provider: Some("custom".to_owned()),
            model: Some(model.or_else(|| config.model().0.map(str::to_owned))?),
            base_url: Some(variable(config, vars::CUSTOM_BASE_URL.name)?),
            ..Choice::default()
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
    // Without a key there is nothing to step in with, except at the user's own endpoint.
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

fn limit(own: &Value, task: SideTask) -> Duration {
    let seconds = own["timeout"].as_f64();
    match seconds.filter(|seconds| (0.001..LONGEST).contains(seconds)) {
        Some(seconds) => Duration::from_secs_f64(seconds),
        None => task.usual_limit(),
    }
}
