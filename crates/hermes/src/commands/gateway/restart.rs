//! `hermes gateway restart`.

use std::time::{Duration, Instant};

use hermes_home::gateway_pid;
use hermes_home::profiles::stop_gateway;
use hermes_proc::{ProcessHandle, identity_of};
use hermes_supervise::{DesiredState, StateFile};
use serde_json::Value;

use super::detached::{self, START_LIMIT, Waited, wait_until_running};
use super::stop::{grace, stop_everything};
use super::{StartArgs, started};
use crate::context::Context;
use crate::error::{CommandError, Result};

/// How often a new gateway is looked for that a supervisor starts: nothing tells before it has
/// claimed the home.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

pub(super) fn run(args: &StartArgs, context: &Context) -> Result<()> {
    context.refuse_to_agents("starting a gateway")?;
    context.ensure_home()?;
    if args.all {
        stop_everything(context)?;
    }
    let home = &context.location.home;
    let file = StateFile::of_home(home);
    file.want(DesiredState::Running)?;
    let Some(old) = gateway_pid(home) else {
        let pid = detached::start(context)?;
        return started(context, "Started", pid);
    };
    if !context.config_is_usable() {
        // The next one could not start, and this one still serves.
        return Err(CommandError::user(format!(
            "config.yaml cannot be used, so the gateway (PID {old}) was not restarted"
        ))
        .hint("`hermes config check` shows the line"));
    }
    let is_supervised = file
        .read()
        .and_then(|state| state.get("supervised").and_then(Value::as_bool))
        .unwrap_or(false);
    end(context, old)?;
    let pid = if is_supervised {
        await_next(context, old)?
    } else {
        detached::start(context)?
    };
    started(context, "Restarted", pid)
}

/// Asks the gateway to finish its work and waits for its end; one that does not end is stopped.
fn end(context: &Context, pid: u32) -> Result<()> {
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
        stop_gateway(&context.location.home, Duration::ZERO)?;
    }
    Ok(())
}

/// Waits for the gateway that the supervisor starts.
fn await_next(context: &Context, old: u32) -> Result<u32> {
    let deadline = Instant::now() + START_LIMIT;
    loop {
        let next = gateway_pid(&context.location.home).filter(|pid| *pid != old);
        if let Some(pid) = next
            && let Waited::Running = wait_until_running(context, pid, START_LIMIT)?
        {
            return Ok(pid);
        }
        if Instant::now() > deadline {
            return Err(CommandError::user(
                "the gateway has ended, but its supervisor did not start it again",
            )
            .hint("`hermes gateway start` starts it without the supervisor"));
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}
