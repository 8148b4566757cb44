//! `hermes fallback add`.

use hermes_config::settings::append_value;
use hermes_providers::{OpenError, fallback_entries};
use serde_json::{Map, Value};

use crate::context::Context;
use crate::error::{CommandError, Result};

/// The setting new entries go to.
const SETTING: &str = "fallback_providers";

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Provider: an id, an alias, custom:<name> or a key of `providers`
    provider: String,
    /// Model
    model: String,
    /// Address, if it differs from the provider's own
    #[arg(long, value_name = "URL")]
    base_url: Option<String>,
    /// Variable that holds the key
    #[arg(long, value_name = "NAME")]
    key_env: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("changing fallback_providers")?;
    context.refuse_if_managed("config.yaml")?;
    let mut entry = Map::new();
    for (key, value) in [
        ("provider", Some(&args.provider)),
        ("model", Some(&args.model)),
        ("base_url", args.base_url.as_ref()),
        ("key_env", args.key_env.as_ref()),
    ] {
        let value = value.map(|value| value.trim());
        if let Some("") = value {
            return Err(CommandError::usage(format!("the {key} must not be empty")));
        }
        if let Some(value) = value {
            entry.insert(key.to_owned(), Value::from(value));
        }
    }
    let entry = Value::Object(entry);
    let known = fallback_entries(context.config());
    let is_same = known.iter().any(|one| {
        one.provider.eq_ignore_ascii_case(args.provider.trim())
            && one.model == args.model.trim()
            && one.base_url.as_deref() == args.base_url.as_deref().map(str::trim)
    });
    if is_same {
        return Err(CommandError::user(format!(
            "{} with {} is already in the chain",
            args.provider, args.model
        ))
        .hint("`hermes fallback list` shows it"));
    }
    let problem = hermes_providers::fallback_problem(context.config(), &entry);
    if let Some(
        problem @ (OpenError::UnknownProvider { .. }
        | OpenError::NoAddress
        | OpenError::BadAddress { .. }),
    ) = problem
    {
        return Err(problem.into());
    }
    context.ensure_home()?;
    append_value(&context.sources_to_write(), SETTING, &entry)?;
    context.start_logging();
    tracing::info!(provider = args.provider, "fallback added");
    let place = known.iter().filter(|one| one.setting == SETTING).count() + 1;
    context.line(format!(
        "✓ Added {} with {} as entry {place}",
        args.provider, args.model
    ))?;
    if let Some(problem) = problem {
        context.warn(format!("it will be skipped for now: {problem}"))?;
        context.hint(problem.hint())?;
    }
    Ok(())
}
