//! `hermes gateway install` and `uninstall`.

use hermes_supervise::{Definition, DesiredState, StateFile, Systemd};

use super::service::{GatewayService, ScopeArgs, failure};
use super::supervised::{Before, await_started};
use super::{named, slot, started};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::caller;
use crate::machine::own_slot;

#[derive(Debug, clap::Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "independent flags of the command line"
)]
pub(crate) struct Args {
    /// Write the definition although it is up to date
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    scope: ScopeArgs,
    /// Account that a service of the system runs as (default: who called sudo)
    #[arg(long, value_name = "USER", requires = "system")]
    run_as_user: Option<String>,
    /// Start it now (the default)
    #[arg(long, overrides_with = "no_start_now")]
    start_now: bool,
    /// Do not start it now
    #[arg(long, overrides_with = "start_now")]
    no_start_now: bool,
    /// Start it with the machine or the login (the default)
    #[arg(long, overrides_with = "no_start_on_login")]
    start_on_login: bool,
    /// Do not start it with the machine or the login
    #[arg(long, overrides_with = "start_on_login")]
    no_start_on_login: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
    context.refuse_to_agents("installing a service")?;
    if own_slot(context).is_some() {
        return slot::explain(context, "installed");
    }
    let run_as = args.run_as_user.as_deref();
    let Some(service) = GatewayService::find(context, args.scope.system, run_as)? else {
        return Err(
            CommandError::environment("no service manager was found on this machine")
                .hint("`hermes gateway start` runs the gateway in the background without one"),
        );
    };
    if service.is_own() {
        context.ensure_home()?;
    }
    let manager = service.manager();
    let file = context.display(manager.file());
    let found = manager.definition();
    if found == Definition::Current && !args.force {
        context.line(format!("{file} is up to date"))?;
    } else {
        let notes = manager
            .install(args.start_on_login || !args.no_start_on_login)
            .map_err(failure)?;
        let done = match found {
            Definition::Absent => "Installed",
            Definition::Current | Definition::Outdated => "Replaced",
        };
        context.line(format!("✓ {done} {file}"))?;
        for note in notes {
            context.note(format!("Note: {note}"))?;
        }
    }
    if has_both(context) {
        context.note(
            "Note: there are services of your account and of the system for this profile; \
             `hermes gateway uninstall` removes one of them.",
        )?;
    }
    if !cfg!(target_os = "macos") && !Systemd::legacy_units(&caller(context)).is_empty() {
        context.note(
            "Note: an early installation left a service that would fight with this one; \
             `hermes gateway migrate-legacy` removes it.",
        )?;
    }
    if args.no_start_now && !args.start_now {
        return context.line("It was not started");
    }
    if service.is_own() {
        StateFile::of_home(service.home()).want(DesiredState::Running)?;
    }
    let before = Before::of_home(service.home());
    if let Some(pid) = before.running() {
        return running_already(context, &service, pid);
    }
    service.start()?;
    started(context, "Started", await_started(&before)?)
}

/// Says who runs the gateway that there is.
fn running_already(context: &Context, service: &GatewayService, pid: u32) -> Result<()> {
    if service.is_active() {
        context.line(format!("It runs already (PID {pid})"))?;
        return context.note("`hermes gateway restart` lets it use the new definition.");
    }
    context.line(format!("It runs outside the service (PID {pid})"))?;
    context.note("`hermes gateway restart` hands it over to the service.")
}

/// Whether the profile has a service of the account and one of the system.
fn has_both(context: &Context) -> bool {
    [false, true].iter().all(|system| {
        let found = GatewayService::installed(context, *system);
        let scope = if *system { "system" } else { "user" };
        found.is_ok_and(|service| service.is_some_and(|one| one.manager().scope() == scope))
    })
}

#[derive(Debug, clap::Args)]
pub(crate) struct UninstallArgs {
    #[command(flatten)]
    scope: ScopeArgs,
}

pub(super) fn uninstall(args: &UninstallArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("removing a service")?;
    if own_slot(context).is_some() {
        return slot::explain(context, "uninstalled");
    }
    let Some(service) = GatewayService::installed(context, args.scope.system)? else {
        let name = context.location.profile_label();
        return context.line(format!(
            "The gateway of profile {name} is no service of this machine"
        ));
    };
    if service.is_own() {
        StateFile::of_home(service.home()).want(DesiredState::Stopped)?;
    }
    service.remove()?;
    let file = context.display(service.manager().file());
    context.line(format!("✓ Stopped {} and removed {file}", named(context)))
}
