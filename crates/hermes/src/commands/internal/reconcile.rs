//! `hermes internal reconcile`: slots for all profiles.

use hermes_supervise::{BootAction, MainCommand, Reconcile};

use crate::commands::gateway::service::caller;
use crate::context::Context;
use crate::error::{CommandError, Result};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting gateways")?;
    let command = MainCommand::of_container();
    let done = Reconcile {
        caller: &caller(context),
        location: &context.location,
        env: &context.env,
        program: &context.program.path,
        main_command: command.as_ref(),
        dry_run: args.dry_run,
    }
    .run();
    for note in &done.notes {
        context.warn(note)?;
    }
    for row in &done.rows {
        context.line(format!("reconcile: {row}"))?;
    }
    let failed = |action: BootAction, error: &Option<String>| {
        action == BootAction::Skipped && error.is_some()
    };
    CommandError::silent_unless(!done.rows.iter().any(|row| failed(row.action, &row.error)))
}
