//! `hermes gateway start`: a gateway in the background.

use hermes_home::gateway_pid;
use hermes_supervise::{DesiredState, StateFile};

use super::{detached, stop};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// First stop every gateway of this user
    #[arg(long)]
    all: bool,
}

pub(super) fn run(args: &Args, context: &Context) -> Result<()> {
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

/// Says what runs now.
pub(super) fn started(context: &Context, done: &str, pid: u32) -> Result<()> {
    context.line(format!("✓ {done} {} (PID {pid})", named(context)))?;
    let profile = context.profile_flag();
    context.note(format!(
        "It runs in the background until `hermes {profile}gateway stop` or a reboot; \
         `hermes {profile}logs gateway -f` follows it."
    ))
}

/// The gateway, as sentences call it.
pub(super) fn named(context: &Context) -> String {
    format!(
        "the gateway of profile {}",
        context.location.profile_label()
    )
}
