//! `gateway stop --all` and `restart --all` under s6: every slot there is.

use std::path::Path;
use std::time::Duration;

use hermes_home::gateway_pid;
use hermes_supervise::{DesiredState, S6, ServiceManager, StateFile};

use super::slot::{announce_stop, drain, slot_failure};
use crate::context::Context;
use crate::error::{CommandError, Result};

pub(super) fn stop_all(context: &Context, s6: &S6) -> Result<()> {
    // All are told before one is waited for.
    let told = each_slot(context, s6, |slot, home| {
        if home.is_dir() {
            StateFile::of_home(home).want(DesiredState::Stopped)?;
            announce_stop(home)?;
        }
        slot.begin_stop().map_err(|error| slot_failure(&error))
    })?;
    let stopped = told.into_iter().map(|(slot, told)| {
        let waited = told.and_then(|()| slot.finish_stop().map_err(|error| slot_failure(&error)));
        (slot, waited)
    });
    summarise(context, "stop", "Stopped", stopped.collect())
}

pub(super) fn restart_all(context: &Context, s6: &S6) -> Result<()> {
    let restarted = each_slot(context, s6, |slot, home| {
        let of_home = context.location.for_profile(slot.profile());
        StateFile::of_home(home).want(DesiredState::Running)?;
        let status = slot.status().map_err(|error| slot_failure(&error))?;
        let limit = grace_of(context, &of_home.home);
        if status.is_up && !(status.pid == gateway_pid(home) && drain(slot, status.pid, limit)?) {
            slot.restart().map_err(|error| slot_failure(&error))?;
        }
        slot.start().map_err(|error| slot_failure(&error))
    })?;
    summarise(context, "restart", "Restarted", restarted)
}

/// How long a gateway of another home may take to end.
fn grace_of(context: &Context, home: &Path) -> Duration {
    hermes_gateway::drain_timeout(&context.in_home(home)) + Duration::from_secs(5)
}

/// Does something with every slot there is.
fn each_slot(
    context: &Context,
    s6: &S6,
    mut act: impl FnMut(&S6, &Path) -> Result<()>,
) -> Result<Vec<(S6, Result<()>)>> {
    let profiles = s6
        .slots()
        .profiles()
        .map_err(|error| slot_failure(&error))?;
    if profiles.is_empty() {
        return Err(CommandError::marked(
            "No profile gateways registered under s6",
        ));
    }
    let done = profiles.iter().map(|profile| {
        let slot = s6.for_profile(profile);
        let acted = act(&slot, &context.location.profile_home(profile));
        (slot, acted)
    });
    Ok(done.collect())
}

fn summarise(context: &Context, verb: &str, done: &str, all: Vec<(S6, Result<()>)>) -> Result<()> {
    let fine = all.iter().filter(|(_, acted)| acted.is_ok()).count();
    if fine > 0 {
        context.line(format!("✓ {done} {fine} profile gateway(s) under s6"))?;
    }
    let count = all.len();
    for (slot, acted) in all {
        if let Err(error) = acted {
            let profile = slot.profile();
            let reason = error.message;
            context.note(format!("✗ Could not {verb} gateway-{profile}: {reason}"))?;
        }
    }
    CommandError::silent_unless(fine == count)
}
