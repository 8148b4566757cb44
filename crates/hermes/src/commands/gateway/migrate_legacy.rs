//! `hermes gateway migrate-legacy`: what early installations left would fight with the service of now.

use std::process::ExitCode;

use hermes_supervise::{ManagerError, ServiceManager as _, Systemd};

use super::service::failure;
use crate::context::Context;
use crate::error::Result;
use crate::machine::caller;
use crate::ui::{counted, must_confirm};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only show what would be removed
    #[arg(long)]
    dry_run: bool,
    /// Remove without asking
    #[arg(short, long)]
    yes: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.refuse_to_agents("removing a service")?;
    let units = Systemd::legacy_units(&caller(context));
    if units.is_empty() {
        context.line("There is no service of an early installation")?;
        return Ok(ExitCode::SUCCESS);
    }
    for unit in &units {
        let file = context.display(unit.file());
        context.line(format!("{file} ({})", unit.label()))?;
    }
    if args.dry_run {
        context.note("Nothing was changed.")?;
        return Ok(ExitCode::SUCCESS);
    }
    let question = format!("Stop and remove {}?", counted(units.len(), "service"));
    must_confirm(context.printer, args.yes, &question)?;
    let mut left = None;
    for unit in &units {
        match unit.uninstall() {
            Ok(()) => context.line(format!("✓ Removed {}", context.display(unit.file())))?,
            Err(error) => {
                let file = context.display(unit.file());
                context.note(format!("✗ {file} is still there: {error}"))?;
                left = Some(error);
            }
        }
    }
    match left {
        Some(ManagerError::NeedsRoot(_)) => {
            context.note("`sudo hermes gateway migrate-legacy` removes what is the system's.")?;
            Ok(ExitCode::FAILURE)
        }
        Some(error) => Err(failure(error)),
        None => Ok(ExitCode::SUCCESS),
    }
}
