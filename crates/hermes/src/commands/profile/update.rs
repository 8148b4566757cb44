//! `hermes profile update`: the newest version of a profile's distribution.

use hermes_home::ProfileName;
use hermes_home::profiles::{ConfigChoice, update};

use super::install::tools;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    name: String,
    /// Replace config.yaml too
    #[arg(long)]
    force_config: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("updating a profile")?;
    let name = ProfileName::parse(&args.name)?;
    let choice = if args.force_config {
        ConfigChoice::Replace
    } else {
        ConfigChoice::Keep
    };
    let question =
        format!("Replace the persona, skills and jobs of '{name}' with those of the distribution?");
    if !args.yes && confirm(context.printer, &question)? != Some(true) {
        return Err(CommandError::cancelled().hint("--yes updates without asking"));
    }
    let env = context.environment().helper_plan();
    let report = update(
        &context.location,
        &name,
        choice,
        tools(&env),
        &context.home_policy(),
    )?;
    let version = |version: &Option<String>| version.clone().unwrap_or_else(|| "?".to_owned());
    context.line(format!(
        "✓ Updated '{name}' from {} to {}",
        version(&report.before.version),
        version(&report.after.version)
    ))
}
