//! `hermes model`: which model answers, and choosing another one.

use std::io::IsTerminal;

use hermes_config::settings::{SetRequest, set};
use hermes_providers::{BUILTINS, ModelListCache, PoolName, RouteCheck, keys_in_variables};
use serde_json::json;

use super::setup::{Listing, model_facts, model_section};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::can_ask;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Name of the model to use from now on
    #[arg(value_name = "MODEL")]
    model: Option<String>,
    /// Provider to use from now on
    #[arg(long, value_name = "NAME")]
    provider: Option<String>,
    /// List the providers
    #[arg(long, conflicts_with_all = ["model", "provider"])]
    list: bool,
    /// Ask the provider for its models again, instead of showing the remembered list
    #[arg(long)]
    refresh: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<()> {
    if args.list {
        return list(args, context);
    }
    if args.model.is_some() || args.provider.is_some() {
        choose(args, context)?;
        return show(args, &context.reloaded());
    }
    if args.refresh {
        ModelListCache::of_home(&context.location.home).clear()?;
    }
    let is_person = can_ask() && std::io::stdout().is_terminal() && !args.json;
    if is_person {
        context.refuse_if_managed("config.yaml")?;
        return match model_section(context)? {
            Some(changed) => show(args, &changed),
            None => show(args, context),
        };
    }
    show(args, context)?;
    if args.json {
        Ok(())
    } else {
        models(args, context)
    }
}

/// The models of the provider in use: the remembered list, or a new one if asked for.
fn models(args: &Args, context: &Context) -> Result<()> {
    let Ok(found) = RouteCheck::resolve(context.config()) else {
        return Ok(());
    };
    let listing = Listing {
        provider: found.provider,
    };
    let models = if args.refresh {
        listing.get(context, true).map_err(|error| {
            let hint = error.hint();
            CommandError::environment(error.to_string()).hint(hint)
        })?
    } else {
        listing.remembered(context)
    };
    for model in models {
        let facts = model_facts(&model);
        context.line(format!("  {}  {facts}", model.name).trim_end())?;
    }
    Ok(())
}

fn choose(args: &Args, context: &Context) -> Result<()> {
    context.refuse_if_managed("config.yaml")?;
    let values = [
        ("model.default", &args.model),
        ("model.provider", &args.provider),
    ];
    for (key, value) in values {
        if value.as_ref().is_some_and(|value| value.trim().is_empty()) {
            return Err(CommandError::usage(format!("{key} cannot be empty")));
        }
    }
    if let Some(provider) = &args.provider
        && provider != hermes_providers::Replay::ID
    {
        PoolName::resolve(context.config(), provider)?;
    }
    context.ensure_home()?;
    let sources = context.sources_to_write();
    for (key, value) in values {
        if let Some(value) = value {
            let request = SetRequest {
                key,
                value: value.trim(),
                force: false,
            };
            set(&sources, &request)?;
        }
    }
    context.start_logging();
    tracing::info!("model changed");
    Ok(())
}

/// What a conversation would use; says what is missing, which is no failure of looking.
fn show(args: &Args, context: &Context) -> Result<()> {
    let found = RouteCheck::resolve(context.config());
    let (model, provider) = context.config().model();
    if args.json {
        return context.json(&match &found {
            Ok(found) => json!({
                "model": found.model, "provider": found.provider, "host": found.host,
                "problem": null,
            }),
            Err(error) => json!({
                "model": model, "provider": provider, "host": null,
                "problem": error.to_string(),
            }),
        });
    }
    let (model, provider) = match &found {
        Ok(found) => (found.model.as_deref(), Some(found.provider.as_str())),
        Err(_) => (model, provider),
    };
    context.line(format!("Model:    {}", model.unwrap_or("(not set)")))?;
    context.line(format!("Provider: {}", provider.unwrap_or("(not set)")))?;
    if let Err(error) = found {
        context.warn(format!("no conversation can run: {error}"))?;
        context.hint(error.hint())?;
    }
    Ok(())
}

/// Every built-in provider, those with a key first marked.
fn list(args: &Args, context: &Context) -> Result<()> {
    let stored = hermes_providers::AuthFile::of_home(&context.location.home).all()?;
    let in_variables = keys_in_variables(context.config());
    let has_key = |id: &str| {
        stored.iter().any(|(provider, _)| provider == id)
            || in_variables.iter().any(|(provider, _)| *provider == id)
    };
    if args.json {
        let rows: Vec<_> = BUILTINS
            .iter()
            .map(|one| json!({"provider": one.id, "has_key": has_key(one.id)}))
            .collect();
        return context.json(&rows);
    }
    for one in BUILTINS {
        let mark = if has_key(one.id) { "✓" } else { " " };
        context.line(format!("{mark} {}", one.id))?;
    }
    Ok(())
}
