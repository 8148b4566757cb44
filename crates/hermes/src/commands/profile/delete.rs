//! `hermes profile delete`: says what will go, asks, and does it.

use hermes_home::ProfileName;
use hermes_home::profiles::{DeletePlan, apply_delete, plan_delete};

use crate::commands::gateway::slot;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::ask_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The profile
    name: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("deleting a profile")?;
    let name = ProfileName::parse(&args.name)?;
    let plan = plan_delete(&context.location, &name)?;
    describe(context, &plan)?;
    if !args.yes {
        let typed = ask_line(context.printer, &format!("Type '{name}' to delete it: "))?;
        if typed.as_deref() != Some(name.as_str()) {
            return Err(CommandError::cancelled());
        }
    }
    // First: s6 would start the gateway again that is stopped next.
    if slot::unregister(context, &name)? {
        context.line("✓ Stopped and removed its service slot")?;
    }
    let report = apply_delete(&context.location, &plan)?;
    if let Some(gateway) = &report.gateway {
        context.line(format!("✓ Stopped its gateway (PID {})", gateway.pid))?;
    }
    for process in &report.processes {
        context.line(format!("✓ Stopped process {}", process.pid))?;
    }
    for path in &report.aliases {
        context.line(format!("✓ Removed {}", context.display(path)))?;
    }
    for reason in &report.kept_aliases {
        context.warn(format!("could not remove an alias: {reason}"))?;
    }
    if report.sticky_reset {
        context.line("✓ The default profile is active again")?;
    }
    context.line(format!("✓ Deleted profile '{name}'"))
}

fn describe(context: &Context, plan: &DeletePlan) -> Result<()> {
    let profile = &plan.profile;
    context.note(format!("Profile: {}", profile.name))?;
    context.note(format!("Path:    {}", context.display(&profile.path)))?;
    if let Some(model) = &profile.model {
        context.note(format!("Model:   {model}"))?;
    }
    context.note(format!("Skills:  {}", profile.skill_count()))?;
    if let Some(distribution) = &profile.distribution {
        context.note(format!("Distribution: {}", distribution.name))?;
    }
    if let Some(pid) = profile.gateway_pid {
        context.note(format!(
            "Its gateway is running (PID {pid}) and will be stopped."
        ))?;
    }
    context.note(
        "All settings, secrets, memories, sessions, skills and logs in it will be deleted.",
    )?;
    for alias in &plan.aliases {
        context.note(format!(
            "The command {} will be removed.",
            context.display(&alias.path)
        ))?;
    }
    Ok(())
}
