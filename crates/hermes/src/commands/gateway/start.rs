//! `hermes gateway start`: a gateway in the background, by its service where there is one.

use hermes_home::gateway_pid;
use hermes_supervise::{DesiredState, S6, ServiceManager, StateFile};

use super::all_slots::stop_all;
use super::service::GatewayService;
use super::slot::{slot_failure, store_port};
use super::supervised::{Before, SLOT_LIMIT, await_started, await_started_within};
use super::{StartArgs, detached, refuse_beside_other_host, started, stop};
use crate::context::Context;
use crate::error::Result;
use crate::machine::own_slot;

pub(super) fn run(args: &StartArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting a gateway")?;
    refuse_beside_other_host(context)?;
    if let Some(s6) = own_slot(context) {
        if args.all {
            stop_all(context, &s6)?;
        }
        return start_slot(context, &s6);
    }
    if args.all {
        stop::stop_everything(context)?;
    }
    if let Some(service) = GatewayService::meant(context, &args.scope)? {
        if service.is_own() {
            StateFile::of_home(service.home()).want(DesiredState::Running)?;
        }
        let before = Before::of_home(service.home());
        if let Some(pid) = before.running() {
            return already_running(context, pid);
        }
        service.start()?;
        return started(context, "Started", await_started(&before)?);
    }
    context.ensure_home()?;
    let home = &context.location.home;
    StateFile::of_home(home).want(DesiredState::Running)?;
    if let Some(pid) = gateway_pid(home) {
        return already_running(context, pid);
    }
    let pid = detached::start(context)?;
    started(context, "Started", pid)
}

/// A profile without a slot gets one.
fn start_slot(context: &Context, s6: &S6) -> Result<()> {
    context.ensure_home()?;
    let home = &context.location.home;
    StateFile::of_home(home).want(DesiredState::Running)?;
    let before = Before::of_home(home);
    if let Some(pid) = before.running() {
        return already_running(context, pid);
    }
    store_port(context, s6)?;
    s6.start().map_err(|error| slot_failure(&error))?;
    let pid = await_started_within(&before, SLOT_LIMIT)?;
    started(context, "Started", pid)
}

fn already_running(context: &Context, pid: u32) -> Result<()> {
    let name = context.location.profile_label();
    context.line(format!(
        "The gateway of profile {name} is already running (PID {pid})"
    ))
}
