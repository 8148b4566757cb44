//! What has to be true before a gateway starts, cheapest first; and taking the place of one that
//! runs.

use std::path::Path;
use std::time::Duration;

use hermes_config::vars;
use hermes_home::{GatewayMarker, gateway_elsewhere, gateway_pid};
use hermes_proc::{ProcessHandle, identity_of};
use hermes_runtime::Context;
use hermes_supervise::{ClaimError, StateFile, TokenLocks};
use serde_json::Value;

use crate::error::StartError;
use crate::options::{GatewayOptions, Replaced};

/// Where the container image has the program.
const IMAGE_TREE: &str = "opt/hermes";

/// How long a gateway gets to end that is replaced, beyond what it may wait for its work.
const GRACE: Duration = Duration::from_secs(10);
const KILL_WAIT: Duration = Duration::from_secs(5);

/// Checks whether a gateway may start here, and makes room for it if it is told to.
pub(crate) fn check(context: &Context, options: &GatewayOptions) -> Result<(), StartError> {
    refuse_root_in_image(context)?;
    if !options.force {
        refuse_if_served_by_default(context)?;
    }
    let home = &context.location.home;
    refuse_beside_other_host(home)?;
    match gateway_pid(home).filter(|pid| *pid != std::process::id()) {
        Some(pid) if may_replace(options.replaces, home, pid) => replace(context, pid),
        Some(pid) => Err(StartError::AlreadyRunning { pid }),
        None => Ok(()),
    }
}

/// Refuses where a gateway of this home lives in another container or on another machine, out of
/// reach for any signal.
pub fn refuse_beside_other_host(home: &Path) -> Result<(), StartError> {
    match gateway_elsewhere(home) {
        Some(host) => Err(ClaimError::Elsewhere { host }.into()),
        None => Ok(()),
    }
}

fn may_replace(replaces: Replaced, home: &Path, pid: u32) -> bool {
    match replaces {
        Replaced::Nobody => false,
        Replaced::Unsupervised => !is_supervised(home, pid),
        Replaced::Anybody => true,
    }
}

/// Whether somebody starts this gateway again when it ends, by what it says of itself.
fn is_supervised(home: &Path, pid: u32) -> bool {
    let state = StateFile::of_home(home).read().unwrap_or_default();
    state.get("pid").and_then(Value::as_u64) == Some(u64::from(pid))
        && state.get("supervised").and_then(Value::as_bool) == Some(true)
}

/// How long a stopping gateway of this home waits for its work.
pub fn drain_timeout(context: &Context) -> Duration {
    hermes_supervise::drain_timeout(context.config())
}

fn refuse_root_in_image(context: &Context) -> Result<(), StartError> {
    let tree = context.system.file_system_root.join(IMAGE_TREE);
    let is_refused = context.system.uid == 0
        && context.program.path.starts_with(tree)
        && !context.env.flag(&vars::HERMES_ALLOW_ROOT_GATEWAY);
    if is_refused {
        return Err(StartError::Root);
    }
    Ok(())
}

/// The reference can serve all profiles with the gateway of the default one.
fn refuse_if_served_by_default(context: &Context) -> Result<(), StartError> {
    let Some(profile) = context.current.as_ref().filter(|name| !name.is_default()) else {
        return Ok(());
    };
    let root = &context.location.root;
    let state = StateFile::of_home(root).read().unwrap_or_default();
    let served = state.get("served_profiles").and_then(Value::as_array);
    let mut served = served.into_iter().flatten().filter_map(Value::as_str);
    if !served.any(|name| name == profile.as_str()) {
        return Ok(());
    }
    match gateway_pid(root) {
        Some(pid) => Err(StartError::Multiplexed {
            profile: profile.to_string(),
            pid,
        }),
        None => Ok(()),
    }
}

/// Ends the gateway of a home in favour of this process.
fn replace(context: &Context, pid: u32) -> Result<(), StartError> {
    let home = &context.location.home;
    let drain = drain_timeout(context);
    let failure = |reason: String| StartError::NotReplaced { pid, reason };
    let Some(identity) = identity_of(pid) else {
        return Ok(());
    };
    let handle = ProcessHandle::open(&identity).map_err(|error| failure(error.to_string()))?;
    let Some(handle) = handle else {
        return Ok(());
    };
    if let Err(error) = GatewayMarker::Takeover.write(home, &identity) {
        // It ends all the same, but takes this for an accident.
        tracing::warn!(%error, "could not announce the takeover");
    }
    let ended = handle
        .terminate()
        .and_then(|()| handle.wait_for_exit(GRACE + drain))
        .and_then(|ended| {
            if ended {
                return Ok(true);
            }
            tracing::warn!(pid, "the gateway to be replaced did not end and is killed");
            handle.kill()?;
            handle.wait_for_exit(KILL_WAIT)
        });
    if let Err(error) = GatewayMarker::Takeover.clear(home) {
        tracing::debug!(%error, "could not remove the note about the takeover");
    }
    match ended {
        Ok(true) => {
            let locks = TokenLocks::of_user(&context.env, &context.location.user_home);
            match locks.release_of(&identity) {
                Ok(0) => {}
                Ok(count) => tracing::info!(pid, count, "removed token locks it left behind"),
                Err(error) => tracing::warn!(pid, %error, "its token locks were not removed"),
            }
            Ok(())
        }
        Ok(false) => Err(failure("it does not end".to_owned())),
        Err(error) => Err(failure(error.to_string())),
    }
}
