//! `hermes auth logout` and `hermes logout`: forget everything kept for a provider.

use hermes_providers::{CredentialEntry, RemovedLogin};

use super::{file, no_keys, pool};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::counted;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Provider (default: the one you are logged in to)
    provider: Option<String>,
}

/// `hermes logout`.
#[derive(Debug, clap::Args)]
pub(crate) struct TopLevelArgs {
    /// Provider to log out from (default: the one you are logged in to)
    #[arg(long, value_name = "PROVIDER")]
    provider: Option<String>,
}

/// Without a login there is nothing to do, which is what was asked for.
pub(crate) fn run_top_level(args: &TopLevelArgs, context: &Context) -> Result<()> {
    if args.provider.is_none() && file(context).active_provider()?.is_none() {
        return context.line("Not logged in to any provider");
    }
    log_out(args.provider.as_deref(), context)
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    log_out(args.provider.as_deref(), context)
}

fn log_out(provider: Option<&str>, context: &Context) -> Result<()> {
    context.refuse_to_agents("removing keys")?;
    let file = file(context);
    let name = match provider {
        // A login may be of a provider that is not known by name here.
        Some(provider) => match pool(context, provider) {
            Ok(pool) => pool.key,
            Err(error) => match file.remove_provider(provider.trim())? {
                Some(forgotten) => return tell(provider.trim(), &forgotten, context),
                None => return Err(error),
            },
        },
        None => file.active_provider()?.ok_or_else(|| {
            CommandError::user("not logged in to any provider")
                .hint("name the provider whose keys should be removed")
        })?,
    };
    match file.remove_provider(&name)? {
        Some(forgotten) => tell(&name, &forgotten, context),
        None => Err(no_keys(&name)),
    }
}

fn tell(name: &str, forgotten: &RemovedLogin, context: &Context) -> Result<()> {
    let keys = counted(forgotten.keys.len(), "key");
    let login = if forgotten.login {
        " and the login"
    } else {
        ""
    };
    context.line(format!("✓ Removed {keys}{login} for {name}"))?;
    let variables = forgotten.keys.iter().map(CredentialEntry::source);
    for variable in variables.filter_map(|source| source.strip_prefix("env:")) {
        context.hint(format!(
            "{variable} is still set; it is used until you unset it"
        ))?;
    }
    Ok(())
}
