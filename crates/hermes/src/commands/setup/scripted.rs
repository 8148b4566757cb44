//! Setup without questions: flags, variables and what is found. A missing answer is a line and exit
//! code 2.

use hermes_providers::{ListedModel, ModelQuery, PoolName, QueryError, Replay, builtin};
use hermes_secret::SecretString;

use super::Args;
use super::detect::{Detected, Found};
use super::model_rows::ordered;
use super::model_section::LIST_LIMIT;
use super::write::{ModelSettings, write_custom_key, write_key, write_model, write_setting};
use crate::commands::auth::{check_key_for, piped_key};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// The provider to set up.
struct Target {
    provider: String,
    base_url: Option<String>,
    /// Models that are known already.
    models: Option<Vec<ListedModel>>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let backend = args.backend.as_deref().map(backend).transpose()?;
    let wants_model = args.provider.is_some()
        || args.base_url.is_some()
        || args.model.is_some()
        || backend.is_none()
        || args.key_stdin;
    if wants_model {
        set_model(args, context)?;
    }
    if let Some(name) = backend {
        write_setting(context, "terminal.backend", name)?;
        context.line(format!("✓ Commands run with the backend {name}"))?;
    }
    Ok(())
}

fn backend(name: &str) -> Result<&str> {
    match name.trim() {
        name @ ("local" | "docker" | "ssh") => Ok(name),
        other => Err(CommandError::usage(format!("no such backend: '{other}'"))
            .hint("the backends are local, docker and ssh")),
    }
}

fn set_model(args: &Args, context: &Context) -> Result<()> {
    let target = target(args, context)?;
    let key = args.key_stdin.then(piped_key).transpose()?;
    if let Some(key) = &key {
        check_key_for(&target.provider, key)?;
    }
    let models = match target.models {
        Some(models) => models,
        None => listed(context, &target, key.as_ref())?,
    };
    let model = model(args, context, &target.provider, models)?;
    let key_variable = match (&key, builtin(&target.provider)) {
        (Some(key), Some(provider)) => {
            let place = write_key(context, provider, key)?;
            context.line(format!("✓ The key is saved in {place}"))?;
            None
        }
        (Some(key), None) => Some(write_custom_key(context, key)?),
        (None, _) => None,
    };
    let chosen = ModelSettings {
        provider: target.provider,
        base_url: target.base_url,
        model,
        key_variable,
    };
    write_model(context, &chosen)?;
    context.line(format!("✓ {} from {}", chosen.model, chosen.provider))
}

fn target(args: &Args, context: &Context) -> Result<Target> {
    let given = args.base_url.as_deref().map(str::trim);
    let base_url = given.filter(|url| !url.is_empty()).map(str::to_owned);
    let named = match (&args.provider, &base_url) {
        (Some(name), _) => Some(name.trim().to_owned()),
        (None, Some(_)) => Some("custom".to_owned()),
        (None, None) => None,
    };
    if let Some(name) = named {
        let provider = match builtin(&name) {
            Some(known) => known.id.to_owned(),
            None if name == Replay::ID || base_url.is_some() => name,
            None => {
                PoolName::resolve(context.config(), &name)?;
                name
            }
        };
        return Ok(Target {
            provider,
            base_url,
            models: None,
        });
    }
    let (_, configured) = context.config().model();
    if let Some(provider) = configured {
        let url = context.config().text("model.base_url").trim();
        return Ok(Target {
            provider: provider.to_owned(),
            base_url: (!url.is_empty()).then(|| url.to_owned()),
            models: None,
        });
    }
    let detected = Detected::look(context)?;
    match detected.only() {
        Some(Found::Server(server)) => Ok(Target {
            provider: server.kind.provider().to_owned(),
            base_url: Some(server.base_url.clone()),
            models: Some(server.models.clone()),
        }),
        Some(Found::Key(key)) => Ok(Target {
            provider: key.provider.id.to_owned(),
            base_url: None,
            models: None,
        }),
        None if detected.keys.is_empty() && detected.servers.is_empty() => Err(
            CommandError::usage("setup needs a provider: name one with --provider")
                .hint("`hermes model --list` lists the providers"),
        ),
        None => Err(CommandError::usage(
            "there are several keys or servers here: name the provider with --provider",
        )),
    }
}

/// The models of the provider, which also tests the key.
fn listed(
    context: &Context,
    target: &Target,
    key: Option<&SecretString>,
) -> Result<Vec<ListedModel>> {
    if target.provider == Replay::ID {
        return Ok(Vec::new());
    }
    let query = ModelQuery {
        provider: &target.provider,
        base_url: target.base_url.as_deref(),
        key,
        timeout: LIST_LIMIT,
    };
    query.fetch(context.config()).map_err(|error| {
        let hint = error.hint();
        let failed = match &error {
            QueryError::Open(hermes_providers::OpenError::NoKey { variables, .. }) => {
                let variable = variables.first().copied().unwrap_or("the key");
                return CommandError::usage(format!(
                    "setup needs the key of {}: set {variable}, or pipe it in with --key-stdin",
                    target.provider
                ));
            }
            QueryError::Open(_) => CommandError::usage(error.to_string()),
            QueryError::Refused { .. } if error.is_outside() => {
                CommandError::environment(error.to_string())
            }
            QueryError::Refused { .. } => CommandError::user(error.to_string()),
        };
        failed.hint(hint)
    })
}

fn model(
    args: &Args,
    context: &Context,
    provider: &str,
    models: Vec<ListedModel>,
) -> Result<String> {
    let named = args.model.as_deref().map(str::trim);
    if let Some(name) = named.filter(|name| !name.is_empty()) {
        if !models.is_empty() && models.iter().all(|model| model.name != name) {
            context.warn(format!("{provider} does not list the model {name}"))?;
        }
        return Ok(name.to_owned());
    }
    let (configured, of) = context.config().model();
    let same = of.is_none_or(|of| of == provider);
    if let Some(name) = configured.filter(|_| same) {
        return Ok(name.to_owned());
    }
    match ordered(models).as_slice() {
        [only] => Ok(only.name.clone()),
        [] => Err(CommandError::usage(
            "setup needs a model: name one with --model",
        )),
        [first, ..] => Err(CommandError::usage(format!(
            "setup needs a model: name one with --model, such as {}",
            first.name
        ))),
    }
}
