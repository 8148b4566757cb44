//! Stopping the processes of a profile that is about to move or vanish.
//!
//! Signals go through descriptors that were checked against start time and boot, never to a bare
//! pid, and never to this process or one it descends from.

use std::path::Path;
use std::time::Duration;

use hermes_proc::{
    ProcessHandle, ProcessIdentity, Stopped, ancestors_of_self, identity_of, pids_of_user,
};

use crate::hermes_command::{HermesCommand, command_of_process, is_process_of_home};
use crate::{GatewayMarker, Result, gateway_pid};

/// How long a process gets to finish what it is doing.
const GRACE: Duration = Duration::from_secs(10);

/// A process that was stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoppedProcess {
    pub pid: u32,
    pub how: Stopped,
}

/// Stops the gateway of a home, if one runs, telling it first that this is meant. It has `grace` to
/// finish what it is doing, and at least ten seconds.
pub fn stop_gateway(home: &Path, grace: Duration) -> Result<Option<StoppedProcess>> {
    let Some(identity) = gateway_pid(home).and_then(identity_of) else {
        return Ok(None);
    };
    let Some(handle) = ProcessHandle::open(&identity)? else {
        return Ok(None);
    };
    GatewayMarker::PlannedStop.write(home, &identity)?;
    let how = handle.stop(grace.max(GRACE))?;
    Ok(Some(StoppedProcess {
        pid: identity.pid,
        how,
    }))
}

/// Stops every gateway of this user, whichever home it serves. They are not told that this is meant,
/// because their homes may not be known here.
pub fn stop_other_gateways() -> Result<Vec<StoppedProcess>> {
    let gateways = own_processes(|_, command| command.hosts_gateway());
    stop_all(&gateways)
}

/// Servers, dashboards and gateways of this user that were started for a home.
pub(crate) fn backends_of(home: &Path) -> Vec<ProcessIdentity> {
    own_processes(|pid, command| command.is_backend() && is_process_of_home(pid, command, home))
}

/// Processes of this user that run such a command, without this one and those it descends from.
fn own_processes(is_meant: impl Fn(u32, &HermesCommand) -> bool) -> Vec<ProcessIdentity> {
    let mut spared = ancestors_of_self();
    spared.push(std::process::id());
    pids_of_user(rustix::process::geteuid().as_raw())
        .into_iter()
        .filter(|pid| !spared.contains(pid))
        .filter_map(|pid| {
            // Identity first: what is read afterwards is checked against it when it is opened.
            let identity = identity_of(pid)?;
            let command = command_of_process(pid)?;
            is_meant(pid, &command).then_some(identity)
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
