//! `hermes gateway start`: a gateway in the background.

use hermes_home::gateway_pid;
use hermes_supervise::{DesiredState, StateFile};

use super::{StartArgs, detached, started, stop};
use crate::context::Context;
use crate::error::Result;

pub(super) fn run(args: &StartArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting a gateway")?;
    context.ensure_home()?;
    if args.all {
        stop::stop_everything(context)?;
    }
    let home = &context.location.home;
    StateFile::of_home(home).want(DesiredState::Running)?;
    if let Some(pid) = gateway_pid(home) {
        let name = context.location.profile_label();
        return context.line(format!(
            "The gateway of profile {name} is already running (PID {pid})"
        ));
    }
    let pid = detached::start(context)?;
    started(context, "Started", pid)
}
