//! Provider, key and model: asked for, tested live, written when they work.

use std::time::Duration;

use hermes_providers::{
    BUILTINS, Builtin, ListedModel, LocalServer, ModelListCache, ModelQuery, QueryError, QwenLogin,
    builtin, provider_of_key,
};
use hermes_secret::SecretString;

use super::detect::{Detected, Found, FoundKey, address};
use super::model_rows::{ordered, rows};
use super::provider_names::{key_page, provider_name};
use super::write::{ModelSettings, write_custom_key, write_key, write_model};
use crate::commands::auth::{COPILOT, ask_key, check_key_for, has_login, log_in};
use crate::context::Context;
use crate::error::Result;
use crate::ui::{Choice, Picked, ask_line, counted, pick};

/// How long a provider may take to list its models.
pub(super) const LIST_LIMIT: Duration = Duration::from_secs(10);

/// How the questions begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ModelStep {
    /// With what was found, if that is one thing.
    Shortest,
    /// With the list of all providers.
    AllProviders,
}

/// A provider that is about to be used.
#[derive(Debug, Clone)]
enum Source {
    Server(LocalServer),
    Builtin {
        provider: &'static Builtin,
        has_key: bool,
    },
    /// A login instead of a key.
    Login(&'static str),
    /// An address of one's own.
    Custom,
}

/// A provider that works, and its models.
struct Working {
    provider: String,
    base_url: Option<String>,
    key_variable: Option<String>,
    models: Vec<ListedModel>,
}

/// `hermes model` and the section of setup: all providers, then the models of one. Gives the settings
/// anew; `None` if the person left.
pub(crate) fn model_section(context: &Context) -> Result<Option<Context>> {
    context.refuse_to_agents("choosing a provider and its key")?;
    let detected = Detected::look(context)?;
    choose_model(context, &detected, ModelStep::AllProviders)
}

/// Asks until a provider works and a model is chosen.
pub(super) fn choose_model(
    context: &Context,
    detected: &Detected,
    step: ModelStep,
) -> Result<Option<Context>> {
    let mut only = detected.only().filter(|_| step == ModelStep::Shortest);
    loop {
        let source = match only.take() {
            Some(found) => {
                context.note(found.sentence())?;
                match found {
                    Found::Server(server) => Source::Server(server.clone()),
                    Found::Key(key) => key_source(key),
                }
            }
            None => match ask_provider(context, detected)? {
                Some(source) => source,
                None => return Ok(None),
            },
        };
        let Some(working) = try_out(context, source)? else {
            continue;
        };
        let Some(model) = ask_model(context, &working)? else {
            continue;
        };
        let chosen = ModelSettings {
            provider: working.provider,
            base_url: working.base_url,
            model,
            key_variable: working.key_variable,
        };
        write_model(context, &chosen)?;
        return Ok(Some(context.reloaded()));
    }
}

fn key_source(key: &FoundKey) -> Source {
    Source::Builtin {
        provider: key.provider,
        has_key: true,
    }
}

fn ask_provider(context: &Context, detected: &Detected) -> Result<Option<Source>> {
    let mut choices = Vec::new();
    let mut sources = Vec::new();
    for server in &detected.servers {
        let models = counted(server.models.len(), "model");
        let detail = format!("{}, {models}, no key needed", address(server));
        let label = match server.kind {
            hermes_providers::LocalServerKind::Other => "Model server here".to_owned(),
            kind => format!("{} here", kind.name()),
        };
        choices.push(Choice::new(label, detail));
        sources.push(Source::Server(server.clone()));
    }
    for key in &detected.keys {
        choices.push(Choice::new(provider_name(key.provider.id), &key.place));
        sources.push(key_source(key));
    }
    let is_new = |provider: &&Builtin| {
        let has_key = detected
            .keys
            .iter()
            .any(|key| key.provider.id == provider.id);
        // A server that does not run cannot be chosen.
        !has_key && provider.id != "lmstudio"
    };
    for provider in BUILTINS.iter().filter(is_new) {
        let name = provider_name(provider.id);
        if !provider.key_variables.is_empty() {
            choices.push(Choice::new(name, "with a key"));
            sources.push(Source::Builtin {
                provider,
                has_key: false,
            });
        }
        if has_login(provider.id) {
            let detail = match provider.id {
                QwenLogin::PROVIDER => "with the login of Qwen Code",
                COPILOT => "with the login of the GitHub CLI",
                _ => "log in with the browser",
            };
            choices.push(Choice::new(name, detail));
            sources.push(Source::Login(provider.id));
        }
    }
    choices.push(Choice::new(
        "Another address",
        "any server with an OpenAI-compatible API",
    ));
    sources.push(Source::Custom);
    match pick(context.printer, &context.env, "Model provider", &choices, 0)? {
        Picked::Chosen(at) => Ok(sources.into_iter().nth(at)),
        Picked::Back | Picked::Leave => Ok(None),
    }
}

/// Asks for what the provider needs, and the provider for its models. `None` leads back to the
/// choice of a provider.
fn try_out(context: &Context, source: Source) -> Result<Option<Working>> {
    match source {
        Source::Server(server) => {
            if server.models.is_empty() {
                context.note(format!("{} has no model yet.", server.kind.name()))?;
                if server.kind == hermes_providers::LocalServerKind::Ollama {
                    context.hint("fetch one in another terminal, such as `ollama pull qwen3`")?;
                }
                return Ok(None);
            }
            let own = builtin(server.kind.provider()).map(|known| known.base_url);
            Ok(Some(Working {
                provider: server.kind.provider().to_owned(),
                base_url: (own != Some(server.base_url.as_str())).then_some(server.base_url),
                key_variable: None,
                models: server.models,
            }))
        }
        Source::Builtin { provider, has_key } => {
            let address = match own_address(context, provider)? {
                OwnAddress::NotNeeded => None,
                OwnAddress::Given(url) => Some(url),
                OwnAddress::Nothing => return Ok(None),
            };
            with_key(context, provider, address, has_key)
        }
        Source::Login(id) => {
            if let Err(error) = log_in(context, id) {
                context.note(format!("Error: {}", error.message))?;
                for hint in error.hints {
                    context.hint(hint)?;
                }
                return Ok(None);
            }
            let context = &context.reloaded();
            match builtin(id) {
                Some(provider) => with_key(context, provider, None, true),
                None => Ok(None),
            }
        }
        Source::Custom => custom_address(context),
    }
}

/// The address of a provider where every customer has one.
enum OwnAddress {
    NotNeeded,
    Given(String),
    /// The person typed none.
    Nothing,
}

fn own_address(context: &Context, provider: &Builtin) -> Result<OwnAddress> {
    if !provider.address(context.config()).is_empty() {
        return Ok(OwnAddress::NotNeeded);
    }
    let question = format!(
        "Address of your {} resource, such as https://NAME.openai.azure.com/openai/v1: ",
        provider_name(provider.id)
    );
    let typed = ask_line(context.printer, &question)?;
    let typed = typed.filter(|url| !url.trim().is_empty());
    Ok(typed.map_or(OwnAddress::Nothing, OwnAddress::Given))
}

/// Tests the key of a provider, or asks for one until it passes.
fn with_key(
    context: &Context,
    provider: &'static Builtin,
    base_url: Option<String>,
    mut has_key: bool,
) -> Result<Option<Working>> {
    let mut provider = provider;
    let name = |provider: &Builtin| provider_name(provider.id).to_owned();
    loop {
        let typed = if has_key {
            None
        } else {
            let place = key_page(provider).map_or_else(String::new, |page| format!(" ({page})"));
            let question = format!("Key for {}{place}, not shown: ", name(provider));
            let Some(key) = ask_key(context, &question)? else {
                return Ok(None);
            };
            if let Err(error) = check_key_for(provider.id, &key) {
                context.note(format!("Error: {}", error.message))?;
                continue;
            }
            match whose_key(context, provider, &key)? {
                KeyOwner::Given => {}
                KeyOwner::Other(other) => provider = other,
                KeyOwner::Again => continue,
                KeyOwner::Nobody => return Ok(None),
            }
            Some(key)
        };
        context.note(format!("Asking {} for its models ...", name(provider)))?;
        let query = ModelQuery {
            provider: provider.id,
            base_url: base_url.as_deref(),
            key: typed.as_ref(),
            timeout: LIST_LIMIT,
        };
        let error = match query.fetch(context.config()) {
            Ok(models) => {
                let url = base_url.as_deref();
                let working = accepted(context, provider, url, typed.as_ref(), models)?;
                return Ok(Some(working));
            }
            Err(error) => error,
        };
        match after_failure(context, &error)? {
            Next::AnotherKey => has_key = false,
            Next::SameAgain => has_key = has_key && typed.is_none(),
            Next::Anyway => {
                let url = base_url.as_deref();
                let working = accepted(context, provider, url, typed.as_ref(), Vec::new())?;
                return Ok(Some(working));
            }
            Next::Back => return Ok(None),
        }
    }
}

/// Stores a key that was typed, remembers the list.
fn accepted(
    context: &Context,
    provider: &'static Builtin,
    base_url: Option<&str>,
    typed: Option<&SecretString>,
    models: Vec<ListedModel>,
) -> Result<Working> {
    if let Some(key) = typed {
        let place = write_key(context, provider, key)?;
        context.note(format!("The key is saved in {place}."))?;
    }
    let cache = ModelListCache::of_home(&context.location.home);
    if !models.is_empty() {
        context.ensure_home()?;
        cache.put(provider.id, base_url.unwrap_or_default(), &models);
    }
    Ok(Working {
        provider: provider.id.to_owned(),
        base_url: base_url.map(str::to_owned),
        key_variable: None,
        models,
    })
}

/// Whose key was typed.
enum KeyOwner {
    Given,
    Other(&'static Builtin),
    Again,
    Nobody,
}

/// A key of another provider by its shape is not sent before the person has said what to do.
fn whose_key(context: &Context, provider: &Builtin, key: &SecretString) -> Result<KeyOwner> {
    let shaped = provider_of_key(key.expose()).and_then(builtin);
    let Some(other) = shaped.filter(|other| other.id != provider.id) else {
        return Ok(KeyOwner::Given);
    };
    let (given, meant) = (provider_name(provider.id), provider_name(other.id));
    let rows = [
        Choice::new(format!("Use it for {meant}"), ""),
        Choice::new(format!("Use it for {given} nevertheless"), ""),
        Choice::new("Type another key", ""),
    ];
    let title = format!("This looks like a key of {meant}, not of {given}");
    Ok(
        match pick(context.printer, &context.env, &title, &rows, 0)? {
            Picked::Chosen(0) => KeyOwner::Other(other),
            Picked::Chosen(1) => KeyOwner::Given,
            Picked::Chosen(_) => KeyOwner::Again,
            Picked::Back | Picked::Leave => KeyOwner::Nobody,
        },
    )
}

/// What follows a test that failed.
enum Next {
    AnotherKey,
    SameAgain,
    Anyway,
    Back,
}

fn after_failure(context: &Context, error: &QueryError) -> Result<Next> {
    context.note(format!("That did not work: {error}"))?;
    context.hint(error.hint())?;
    let rows = if error.is_about_key() {
        vec![
            (Next::AnotherKey, "Type another key"),
            (Next::Back, "Another provider"),
        ]
    } else {
        vec![
            (Next::SameAgain, "Try again"),
            (Next::Anyway, "Use it without the test"),
            (Next::Back, "Another provider"),
        ]
    };
    let choices: Vec<Choice> = rows
        .iter()
        .map(|(_, label)| Choice::new(*label, ""))
        .collect();
    let picked = pick(context.printer, &context.env, "What now", &choices, 0)?;
    Ok(match picked {
        Picked::Chosen(at) => rows
            .into_iter()
            .nth(at)
            .map_or(Next::Back, |(next, _)| next),
        Picked::Back | Picked::Leave => Next::Back,
    })
}

fn custom_address(context: &Context) -> Result<Option<Working>> {
    let question = "Address of the API, such as http://127.0.0.1:8000/v1: ";
    let Some(url) = ask_line(context.printer, question)?.filter(|url| !url.is_empty()) else {
        return Ok(None);
    };
    let mut key: Option<SecretString> = None;
    loop {
        context.note("Asking the server for its models ...")?;
        let query = ModelQuery {
            provider: "custom",
            base_url: Some(&url),
            key: key.as_ref(),
            timeout: LIST_LIMIT,
        };
        let models = match query.fetch(context.config()) {
            Ok(models) => models,
            Err(error) => match after_failure(context, &error)? {
                Next::AnotherKey => {
                    let Some(typed) = ask_key(context, "Key for this address, not shown: ")? else {
                        return Ok(None);
                    };
                    key = Some(typed);
                    continue;
                }
                Next::SameAgain => continue,
                Next::Anyway => Vec::new(),
                Next::Back => return Ok(None),
            },
        };
        let key_variable = match &key {
            Some(key) => Some(write_custom_key(context, key)?),
            None => None,
        };
        return Ok(Some(Working {
            provider: "custom".to_owned(),
            base_url: Some(url),
            key_variable,
            models,
        }));
    }
}

fn ask_model(context: &Context, working: &Working) -> Result<Option<String>> {
    let models = ordered(working.models.clone());
    match models.as_slice() {
        [] => {
            let answer = ask_line(context.printer, "Name of the model: ")?;
            return Ok(answer.filter(|name| !name.is_empty()));
        }
        [only] => {
            context.note(format!("Model: {}", only.name))?;
            return Ok(Some(only.name.clone()));
        }
        _ => {}
    }
    let (current, _) = context.config().model();
    let at = models
        .iter()
        .position(|model| Some(model.name.as_str()) == current);
    let picked = pick(
        context.printer,
        &context.env,
        "Model",
        &rows(&models),
        at.unwrap_or(0),
    )?;
    Ok(match picked {
        Picked::Chosen(at) => models.into_iter().nth(at).map(|model| model.name),
        Picked::Back | Picked::Leave => None,
    })
}

/// The models of the provider in use: remembered ones, or asked for.
pub(crate) struct Listing {
    /// The provider, as the settings name it.
    pub(crate) provider: String,
}

impl Listing {
    /// The remembered list, empty if there is none.
    pub(crate) fn remembered(&self, context: &hermes_runtime::Context) -> Vec<ListedModel> {
        let cache = ModelListCache::of_home(&context.location.home);
        let url = context.config().text("model.base_url");
        ordered(cache.get(&self.provider, url).unwrap_or_default())
    }

    /// The remembered list; asks the provider if there is none or `refresh`.
    pub(crate) fn get(
        &self,
        context: &hermes_runtime::Context,
        refresh: bool,
    ) -> std::result::Result<Vec<ListedModel>, QueryError> {
        let cache = ModelListCache::of_home(&context.location.home);
        let config = context.config();
        let url = config.text("model.base_url");
        if !refresh && let Some(models) = cache.get(&self.provider, url) {
            return Ok(ordered(models));
        }
        let query = ModelQuery {
            provider: &self.provider,
            base_url: None,
            key: None,
            timeout: LIST_LIMIT,
        };
        let models = query.fetch(config)?;
        if context.location.home.is_dir() {
            cache.put(&self.provider, url, &models);
        }
        Ok(ordered(models))
    }
}
