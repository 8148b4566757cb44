//! `hermes gateway stop`.

use std::process::ExitCode;
use std::time::Duration;

use hermes_home::gateway_pid;
use hermes_home::profiles::{StoppedProcess, stop_gateway, stop_other_gateways};
use hermes_proc::Stopped;
use hermes_supervise::{DesiredState, S6, ServiceManager, StateFile};

use super::all_slots::stop_all;
use super::named;
use super::service::{GatewayService, ScopeArgs};
use super::slot::{announce_stop, slot_failure};
use crate::context::Context;
use crate::error::Result;
use crate::gateways::{gateway_row, homes};
use crate::machine::own_slot;

/// Nothing to stop.
const NOT_RUNNING: u8 = 3;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Stop every gateway of this user, whichever home it serves
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    scope: ScopeArgs,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.refuse_to_agents("stopping a gateway")?;
    if let Some(s6) = own_slot(context) {
        return if args.all {
            stop_all(context, &s6).map(|()| ExitCode::SUCCESS)
        } else {
            stop_slot(context, &s6)
        };
    }
    if args.all {
        let stopped = stop_everything(context)?;
        if stopped == 0 {
            context.line("No gateway is running")?;
            return Ok(ExitCode::from(NOT_RUNNING));
        }
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(service) = GatewayService::meant(context, &args.scope)?
        && service.is_active()
    {
        return stop_service(context, &service);
    }
    let home = &context.location.home;
    if !home.is_dir() {
        return not_running(context);
    }
    StateFile::of_home(home).want(DesiredState::Stopped)?;
    match stop_gateway(home, grace(context))? {
        Some(stopped) => {
            report(context, &named(context), stopped)?;
            Ok(ExitCode::SUCCESS)
        }
        None => not_running(context),
    }
}

/// Stops the service; the gateway that still runs then is not the service's.
fn stop_service(context: &Context, service: &GatewayService) -> Result<ExitCode> {
    let home = service.home();
    let pid = gateway_pid(home);
    if service.is_own() {
        StateFile::of_home(home).want(DesiredState::Stopped)?;
    }
    service.stop()?;
    if let Some(stopped) = stop_gateway(home, grace(context))? {
        report(context, &named(context), stopped)?;
    } else {
        let pid = pid.map(|pid| format!(" (PID {pid})")).unwrap_or_default();
        context.line(format!("✓ Stopped the service of {}{pid}", named(context)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn stop_slot(context: &Context, s6: &S6) -> Result<ExitCode> {
    let home = &context.location.home;
    let pid = gateway_pid(home);
    if !s6.slots().has(s6.profile()) && pid.is_none() {
        // Says that there is none.
        s6.status().map_err(|error| slot_failure(&error))?;
    }
    StateFile::of_home(home).want(DesiredState::Stopped)?;
    let is_active = s6.is_active().map_err(|error| slot_failure(&error))?;
    if s6.slots().has(s6.profile()) {
        announce_stop(home)?;
        s6.stop().map_err(|error| slot_failure(&error))?;
    }
    // What still runs is not the slot's.
    if let Some(stopped) = stop_gateway(home, grace(context))? {
        report(context, &named(context), stopped)?;
        return Ok(ExitCode::SUCCESS);
    }
    if !is_active && pid.is_none() {
        return not_running(context);
    }
    let pid = pid.map(|pid| format!(" (PID {pid})")).unwrap_or_default();
    context.line(format!("✓ Stopped {}{pid}", named(context)))?;
    Ok(ExitCode::SUCCESS)
}

fn not_running(context: &Context) -> Result<ExitCode> {
    let name = context.location.profile_label();
    let row = gateway_row(context);
    context.line(format!(
        "The gateway of profile {name} is {}",
        row.absence()
    ))?;
    Ok(ExitCode::from(NOT_RUNNING))
}

/// Stops the gateways of all profiles, then those of other homes of this user; how many there were.
pub(super) fn stop_everything(context: &Context) -> Result<usize> {
    let mut count = 0;
    let mut all: Vec<_> = homes(context)?
        .into_iter()
        .map(|(name, home)| (format!("the gateway of profile {name}"), home))
        .collect();
    if context.current.is_none() {
        all.push((named(context), context.location.home.clone()));
    }
    for (name, home) in all.into_iter().filter(|(_, home)| home.is_dir()) {
        let of_home = context.in_home(&home);
        if let Some(stopped) = stop_gateway(&home, hermes_gateway::drain_timeout(&of_home))? {
            StateFile::of_home(&home).want(DesiredState::Stopped)?;
            report(context, &name, stopped)?;
            count += 1;
        }
    }
    for stopped in stop_other_gateways()? {
        report(context, "a gateway of another home", stopped)?;
        count += 1;
    }
    Ok(count)
}

/// How long the gateway may take: what it waits for its work, and a little.
pub(super) fn grace(context: &Context) -> Duration {
    hermes_gateway::drain_timeout(context) + Duration::from_secs(5)
}

fn report(context: &Context, name: &str, stopped: StoppedProcess) -> Result<()> {
    let how = match stopped.how {
        Stopped::Gracefully => "",
        Stopped::Killed => "; it did not end by itself and was killed",
    };
    context.line(format!("✓ Stopped {name} (PID {}){how}", stopped.pid))
}
