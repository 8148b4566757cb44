//! Stopping the processes of a profile that is about to move or vanish.
//!
//! Signals go through descriptors that were checked against start time and boot, never to a bare
//! pid, and never to this process or one it descends from.

use std::path::Path;
use std::time::Duration;

use hermes_proc::{
    ProcessHandle, ProcessIdentity, Stopped, ancestors_of_self, identity_of, pids_of_user,
};
use serde_json::json;

use crate::hermes_command::{command_of_process, is_process_of_home};
use crate::{Result, gateway_pid};

/// How long a process gets to finish what it is doing.
const GRACE: Duration = Duration::from_secs(10);

/// A process that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedProcess {
    pub pid: u32,
    pub how: Stopped,
}

/// Stops the gateway of a home, if one runs, telling it first that this is meant.
pub fn stop_gateway(home: &Path) -> Result<Option<StoppedProcess>> {
    let Some(identity) = gateway_pid(home).and_then(identity_of) else {
        return Ok(None);
    };
    let Some(handle) = ProcessHandle::open(&identity)? else {
        return Ok(None);
    };
    announce_stop(home, &identity)?;
    let how = handle.stop(GRACE)?;
    Ok(Some(StoppedProcess {
        pid: identity.pid,
        how,
    }))
}

/// Without the marker a gateway takes SIGTERM for an accident and asks to be restarted.
fn announce_stop(home: &Path, target: &ProcessIdentity) -> Result<()> {
    let marker = json!({
        "target_pid": target.pid,
        "target_start_time": target.start_time,
        "stopper_pid": std::process::id(),
        "written_at": utc_now(),
    });
    let path = home.join(".gateway-planned-stop.json");
    Ok(hermes_fs::write_atomic(
        &path,
        marker.to_string().as_bytes(),
        0o600,
    )?)
}

/// UTC with offset, as the reference writes it.
pub(crate) fn utc_now() -> String {
    jiff::Timestamp::now()
        .strftime("%Y-%m-%dT%H:%M:%S%.6f+00:00")
        .to_string()
}

/// Servers, dashboards and gateways of this user that were started for a home.
pub(crate) fn backends_of(home: &Path) -> Vec<ProcessIdentity> {
    let mut spared = ancestors_of_self();
    spared.push(std::process::id());
    pids_of_user(rustix::process::geteuid().as_raw())
        .into_iter()
        .filter(|pid| !spared.contains(pid))
        .filter_map(|pid| {
            // Identity first: what is read afterwards is checked against it when it is opened.
            let identity = identity_of(pid)?;
            let command = command_of_process(pid)?;
            (command.is_backend() && is_process_of_home(pid, &command, home)).then_some(identity)
        })
        .collect()
}

/// Stops processes side by side; those that ended by themselves are left out of the result.
pub(crate) fn stop_all(processes: &[ProcessIdentity]) -> Result<Vec<StoppedProcess>> {
    let mut handles = Vec::new();
    for identity in processes {
        if let Some(handle) = ProcessHandle::open(identity)? {
            handle.terminate()?;
            handles.push(handle);
        }
    }
    let deadline = std::time::Instant::now() + GRACE;
    let mut stopped = Vec::new();
    for handle in handles {
        let left = deadline.saturating_duration_since(std::time::Instant::now());
        let how = if handle.wait_for_exit(left)? {
            Stopped::Gracefully
        } else {
            handle.stop(Duration::ZERO)?
        };
        stopped.push(StoppedProcess {
            pid: handle.pid(),
            how,
        });
    }
    Ok(stopped)
}
