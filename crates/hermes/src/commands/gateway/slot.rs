//! Gateways under s6, the supervisor of the container image: every profile has a slot.

use std::path::Path;
use std::time::Duration;

use hermes_home::profiles::{assign_gateway_ports, settle_gateway_port};
use hermes_home::{GatewayMarker, ProfileName, gateway_pid};
use hermes_proc::{ProcessHandle, identity_of};
use hermes_supervise::{ManagerError, S6};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::machine::slot_of_profile;

/// What an error of a slot means for the command.
pub(super) fn slot_failure(error: &ManagerError) -> CommandError {
    let message = CommandError::marked(error.to_string());
    match error.hint() {
        Some(hint) => message.hint(hint),
        None => message,
    }
}

/// Lets the gateway finish its work and end; whether it has.
pub(super) fn drain(s6: &S6, pid: Option<u32>, limit: Duration) -> Result<bool> {
    let handle = pid
        .and_then(identity_of)
        .map(|identity| ProcessHandle::open(&identity))
        .transpose();
    let waits = |error: hermes_proc::Error| CommandError::user(error.to_string());
    let Some(handle) = handle.map_err(waits)?.flatten() else {
        return Ok(true);
    };
    s6.drain_and_restart()
        .map_err(|error| slot_failure(&error))?;
    handle.wait_for_exit(limit).map_err(waits)
}

/// Tells a gateway that the signal which comes is meant.
pub(super) fn announce_stop(home: &Path) -> Result<()> {
    if let Some(identity) = gateway_pid(home).and_then(identity_of) {
        GatewayMarker::PlannedStop.write(home, &identity)?;
    }
    Ok(())
}

/// `gateway install` and `uninstall`, which have nothing to do here.
pub(super) fn explain(context: &Context, done: &str) -> Result<()> {
    let profile = context.profile_flag();
    context.line(format!(
        "Nothing is {done} here: s6 supervises the gateways of this container"
    ))?;
    context.note(format!(
        "`hermes {profile}gateway start` and `hermes {profile}gateway stop` decide whether this one \
         runs, now and after a restart of the container."
    ))
}

/// Gives the gateway a port that stays.
pub(super) fn store_port(context: &Context, s6: &S6) -> Result<()> {
    let profiles = std::slice::from_ref(s6.profile());
    assign_gateway_ports(&context.location, profiles)?;
    Ok(())
}

/// Gives a profile that was just made its slot, down. One that cannot have it is told about, and
/// stays.
pub(crate) fn register_or_warn(context: &Context, profile: &ProfileName) -> Result<()> {
    let Some(s6) = slot_of_profile(context, profile) else {
        return Ok(());
    };
    if let Err(error) = settle_gateway_port(&context.location, profile) {
        context.warn(format!("the port of the gateway was not stored: {error}"))?;
    }
    match s6.register() {
        Ok(_) => context.line(format!(
            "  Service: s6 has a slot for its gateway; start it with: hermes -p {profile} gateway start"
        )),
        Err(error) => {
            tracing::warn!(profile = profile.as_str(), %error, "no service slot");
            context.warn(format!(
                "the service slot of its gateway could not be registered: {error}"
            ))?;
            context.hint(format!(
                "`hermes -p {profile} gateway start` tries it again"
            ))
        }
    }
}

/// Takes the slot of a profile away that is about to be deleted or renamed; whether it had one.
pub(crate) fn unregister(context: &Context, profile: &ProfileName) -> Result<bool> {
    let Some(s6) = slot_of_profile(context, profile) else {
        return Ok(false);
    };
    if !s6.slots().has(profile) {
        return Ok(false);
    }
    announce_stop(&context.location.profile_home(profile))?;
    s6.unregister().map_err(|error| slot_failure(&error))
}
