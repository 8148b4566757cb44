//! `hermes skills tap`: the repositories that skills come from.

use std::process::ExitCode;

use super::hub;
use crate::commands::{NoArgs, exit};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

crate::commands::verbs! { Context;
    /// List the repositories
    List(NoArgs) => list,
    /// Add a repository
    Add(AddArgs) => add,
    /// Remove a repository; what was installed from it stays
    Remove(RemoveArgs) => remove,
}

#[derive(Debug, clap::Args)]
pub(crate) struct AddArgs {
    /// owner/name on GitHub, or the address of a git repository
    repo: String,
}

#[derive(Debug, clap::Args)]
pub(crate) struct RemoveArgs {
    /// The repository as it was added
    name: String,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list(&NoArgs {}, context)),
    }
}

fn list(_: &NoArgs, context: &Context) -> Result<()> {
    let taps = hub(context).taps()?;
    if taps.is_empty() {
        context.line("No repositories")?;
        return context.hint("`hermes skills tap add owner/name` adds one");
    }
    for tap in taps {
        context.line(format!(
            "{} ({})",
            one_line(&tap.repo, 160),
            one_line(&tap.path, 80)
        ))?;
    }
    Ok(())
}

fn add(args: &AddArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("adding a source of skills")?;
    context.ensure_home()?;
    let repo = one_line(args.repo.trim(), 160);
    if hub(context).add_tap(&args.repo, None)? {
        return context.line(format!("✓ Added {repo}"));
    }
    Err(CommandError::user(format!("{repo} was added before")))
}

fn remove(args: &RemoveArgs, context: &Context) -> Result<()> {
    let repo = one_line(args.name.trim(), 160);
    if hub(context).remove_tap(&args.name)? {
        return context.line(format!("✓ Removed {repo}"));
    }
    Err(CommandError::user(format!("no such repository: {repo}"))
        .hint("`hermes skills tap list` shows them"))
}
