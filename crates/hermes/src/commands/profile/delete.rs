//! `hermes profile delete`: says what will go, asks, and does it.

use hermes_home::ProfileName;
use hermes_home::profiles::{DeletePlan, apply_delete, plan_delete};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::ask_line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The profile
    name: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    let name = ProfileName::parse(&args.name)?;
    let plan = plan_delete(&context.location, &name)?;
    describe(context, &plan)?;
    if !args.yes {
        let typed = ask_line(&context.printer, &format!("Type '{name}' to delete it: "))?;
        if typed.as_deref() != Some(name.as_str()) {
            return Err(CommandError::cancelled());
        }
    }
    let report = apply_delete(&context.location, &plan)?;
    let printer = &context.printer;
    if let Some(gateway) = &report.gateway {
        printer.line(format!("✓ Stopped its gateway (PID {})", gateway.pid))?;
    }
    for process in &report.processes {
        printer.line(format!("✓ Stopped process {}", process.pid))?;
    }
    for path in &report.aliases {
        printer.line(format!("✓ Removed {}", context.display(path)))?;
    }
    for reason in &report.kept_aliases {
        printer.warn(format!("an alias stays: {reason}"), None)?;
    }
    if report.sticky_reset {
        printer.line("✓ The default profile is active again")?;
    }
    printer.line(format!("✓ Deleted profile '{name}'"))?;
    Ok(())
}

fn describe(context: &Context, plan: &DeletePlan) -> Result<()> {
    let profile = &plan.profile;
    let printer = &context.printer;
    printer.note(format!("Profile: {}", profile.name))?;
    printer.note(format!("Path:    {}", context.display(&profile.path)))?;
    if let Some(model) = &profile.model {
        printer.note(format!("Model:   {model}"))?;
    }
    printer.note(format!("Skills:  {}", profile.skill_count()))?;
    if let Some(distribution) = &profile.distribution {
        printer.note(format!("Distribution: {}", distribution.name))?;
    }
    if let Some(pid) = profile.gateway_pid {
        printer.note(format!("Its gateway runs (PID {pid}) and will be stopped."))?;
    }
    printer.note("Settings, secrets, memories, sessions, skills and logs in it will be gone.")?;
    for alias in &plan.aliases {
        printer.note(format!(
            "The command {} will be removed.",
            context.display(&alias.path)
        ))?;
    }
    Ok(())
}
