//! `hermes profile install`: a profile from a distribution.

use hermes_home::profiles::{InstallTools, apply_install, plan_install};
use hermes_proc::EnvPlan;

use super::alias_step;
use crate::commands::gateway::slot;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::confirm;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Git URL, or a directory with a distribution.yaml
    source: String,
    /// Name of the profile (default: the distribution's)
    #[arg(long)]
    name: Option<String>,
    /// Also create a command for the profile
    #[arg(long)]
    alias: bool,
    /// Overwrite an existing profile with that name
    #[arg(long)]
    force: bool,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("installing a profile")?;
    let env = context.environment().helper_plan();
    let plan = plan_install(
        &context.location,
        &args.source,
        args.name.as_deref(),
        tools(&env),
    )?;
    let manifest = &plan.manifest;
    context.note(format!("Distribution: {}", manifest.distribution.name))?;
    if let Some(version) = &manifest.distribution.version {
        context.note(format!("Version:      {version}"))?;
    }
    context.note(format!("Profile:      {}", plan.name))?;
    context.note(format!("Skills:       {}", plan.skill_count))?;
    if plan.has_cron {
        context.note("It includes scheduled jobs.")?;
    }
    let missing: Vec<&str> = manifest
        .variables
        .iter()
        .filter(|v| v.required)
        .map(|v| v.name.as_str())
        .collect();
    if !args.yes && confirm(context.printer, "Install it?")? != Some(true) {
        return Err(CommandError::cancelled().hint("--yes installs without asking"));
    }
    let profile = apply_install(&context.location, &plan, args.force, &context.home_policy())?;
    context.line(format!(
        "✓ Installed '{}' at {}",
        plan.name,
        context.display(&profile.home)
    ))?;
    slot::register_or_warn(context, &plan.name)?;
    if args.alias {
        alias_step::write_or_warn(context, &plan.name)?;
    }
    if !missing.is_empty() {
        context.note(format!("note: it needs {} in its .env", missing.join(", ")))?;
    }
    Ok(())
}

/// What fetching a distribution needs.
pub(super) fn tools(env: &EnvPlan) -> InstallTools<'_> {
    InstallTools {
        env,
        version: crate::facts::COMPATIBLE,
    }
}
