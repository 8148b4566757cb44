//! `hermes gateway restart`.

use std::path::Path;
use std::time::Duration;

use hermes_home::gateway_pid;
use hermes_home::profiles::stop_gateway;
use hermes_proc::{ProcessHandle, identity_of};
use hermes_supervise::{DesiredState, S6, ServiceManager, StateFile};
use serde_json::Value;

use super::all_slots::restart_all;
use super::service::GatewayService;
use super::slot::{drain, slot_failure};
use super::stop::{grace, stop_everything};
use super::supervised::{Before, SLOT_LIMIT, await_started, await_started_within};
use super::{StartArgs, detached, refuse_beside_other_host, started};
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::own_slot;

pub(super) fn run(args: &StartArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting a gateway")?;
    refuse_beside_other_host(context)?;
    if let Some(s6) = own_slot(context) {
        return if args.all {
            restart_all(context, &s6)
        } else {
            restart_slot(context, &s6)
        };
    }
    if args.all {
        stop_everything(context)?;
    }
    if let Some(service) = GatewayService::meant(context, &args.scope)? {
        return restart_service(context, &service);
    }
    context.ensure_home()?;
    let home = &context.location.home;
    let file = StateFile::of_home(home);
    file.want(DesiredState::Running)?;
    let Some(old) = gateway_pid(home) else {
        let pid = detached::start(context)?;
        return started(context, "Started", pid);
    };
    refuse_if_broken(context, old)?;
    let is_supervised = file
        .read()
        .and_then(|state| state.get("supervised").and_then(Value::as_bool))
        .unwrap_or(false);
    let before = Before::of_home(home);
    end(context, home, old)?;
    let pid = if is_supervised {
        await_started(&before)?
    } else {
        detached::start(context)?
    };
    started(context, "Restarted", pid)
}

/// Lets the gateway finish its work, and the manager start the next one at once.
fn restart_service(context: &Context, service: &GatewayService) -> Result<()> {
    let home = service.home();
    if service.is_own() {
        StateFile::of_home(home).want(DesiredState::Running)?;
    }
    let before = Before::of_home(home);
    let mut done = "Started";
    if let Some(old) = before.running() {
        refuse_if_broken(context, old)?;
        end(context, home, old)?;
        done = "Restarted";
    }
    service.start()?;
    started(context, done, await_started(&before)?)
}

fn restart_slot(context: &Context, s6: &S6) -> Result<()> {
    let status = s6.status().map_err(|error| slot_failure(&error))?;
    let home = &context.location.home;
    let before = Before::of_home(home);
    if let Some(pid) = before.running() {
        refuse_if_broken(context, pid)?;
    }
    StateFile::of_home(home).want(DesiredState::Running)?;
    let done = if status.is_up {
        let limit = grace(context);
        let drained = status.pid == before.running() && drain(s6, status.pid, limit)?;
        if !drained {
            s6.restart().map_err(|error| slot_failure(&error))?;
        }
        "Restarted"
    } else {
        "Started"
    };
    // For one that was down, and for one that is about to be started again all the same.
    s6.start().map_err(|error| slot_failure(&error))?;
    let pid = await_started_within(&before, SLOT_LIMIT)?;
    started(context, done, pid)
}

/// The next gateway could not start, and this one still serves.
fn refuse_if_broken(context: &Context, pid: u32) -> Result<()> {
    if context.config_is_usable() {
        return Ok(());
    }
    Err(CommandError::user(format!(
        "config.yaml cannot be used, so the gateway (PID {pid}) was not restarted"
    ))
    .hint("`hermes config check` shows the line"))
}

/// Asks the gateway to finish its work and waits for its end; one that does not end is stopped.
fn end(context: &Context, home: &Path, pid: u32) -> Result<()> {
    let failure = |error: hermes_proc::Error| {
        CommandError::user(format!(
            "could not restart the gateway (PID {pid}): {error}"
        ))
    };
    let handle = identity_of(pid)
        .map(|identity| ProcessHandle::open(&identity))
        .transpose()
        .map_err(failure)?
        .flatten();
    let Some(handle) = handle else {
        return Ok(());
    };
    handle.ask_to_restart().map_err(failure)?;
    if !handle.wait_for_exit(grace(context)).map_err(failure)? {
        stop_gateway(home, Duration::ZERO)?;
    }
    Ok(())
}
