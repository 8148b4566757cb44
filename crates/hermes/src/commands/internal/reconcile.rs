//! `hermes internal reconcile`: slots for all profiles.

use hermes_supervise::{
    BootAction, Caller, MainCommand, Owner, Reconcile, Slots, prepare_scan_directory,
    prepare_static_service,
};

use crate::commands::gateway::service::failure;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::caller;

/// Services of the image that its user may control.
const STATIC_SERVICES: [&str; 2] = ["main-hermes", "dashboard"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Only say what would be done
    #[arg(long)]
    dry_run: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting gateways")?;
    let caller = caller(context);
    if !args.dry_run {
        prepare(&caller, context)?;
    }
    let command = MainCommand::of_container();
    let done = Reconcile {
        caller: &caller,
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

/// Before `s6-svscan` starts, its directory is made ready, and the services of the image in it.
fn prepare(caller: &Caller, context: &Context) -> Result<()> {
    let slots = Slots::new(caller, &context.env);
    if slots.is_scanned() {
        return Ok(());
    }
    let owner = Owner::of(caller);
    prepare_scan_directory(slots.path(), &owner).map_err(failure)?;
    for name in STATIC_SERVICES {
        let service = slots.path().join(name);
        if service.is_dir() {
            prepare_static_service(&service, &owner).map_err(failure)?;
        }
    }
    Ok(())
}
