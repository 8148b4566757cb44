//! `hermes gateway start`: a gateway in the background, by its service where there is one.

use hermes_home::gateway_pid;
use hermes_supervise::{DesiredState, StateFile};

use super::service::GatewayService;
use super::supervised::{Before, await_started};
use super::{StartArgs, detached, started, stop};
use crate::context::Context;
use crate::error::Result;

pub(super) fn run(args: &StartArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting a gateway")?;
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

fn already_running(context: &Context, pid: u32) -> Result<()> {
    let name = context.location.profile_label();
    context.line(format!(
        "The gateway of profile {name} is already running (PID {pid})"
    ))
}
