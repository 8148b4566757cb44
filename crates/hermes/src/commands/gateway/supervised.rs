//! Waiting for a gateway that somebody else starts.

use std::path::Path;
use std::time::{Duration, Instant};

use hermes_home::gateway_pid;
use hermes_supervise::{GatewayState, StateFile};
use serde_json::Value;

use super::detached::{START_LIMIT, Waited, wait_until_running};
use crate::error::{CommandError, Result};

/// How often a new gateway is looked for: nothing tells before it has claimed the home.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// How long the gateway of a slot may take to run.
pub(super) const SLOT_LIMIT: Duration = Duration::from_secs(30);

/// What a home says before a start, so that it is not taken for what the start brings about.
pub(super) struct Before<'a> {
    home: &'a Path,
    running: Option<u32>,
    recorded: Option<Value>,
}

impl<'a> Before<'a> {
    /// What this home says now.
    pub(super) fn of_home(home: &'a Path) -> Self {
        Self {
            home,
            running: gateway_pid(home),
            recorded: recorded_pid(home),
        }
    }

    /// The gateway that runs then.
    pub(super) fn running(&self) -> Option<u32> {
        self.running
    }
}

/// Waits until a gateway runs that did not run before; its pid.
pub(super) fn await_started(before: &Before<'_>) -> Result<u32> {
    await_started_within(before, START_LIMIT)
}

/// The same, giving up after some time.
pub(super) fn await_started_within(before: &Before<'_>, limit: Duration) -> Result<u32> {
    let home = before.home;
    let deadline = Instant::now() + limit;
    loop {
        let next = gateway_pid(home).filter(|pid| Some(*pid) != before.running);
        if let Some(pid) = next
            && let Waited::Running = wait_until_running(home, pid, limit)?
        {
            return Ok(pid);
        }
        if next.is_none()
            && recorded_pid(home) != before.recorded
            && let Some(reason) = start_failure(home)
        {
            return Err(
                CommandError::user(format!("the gateway did not start: {reason}"))
                    .hint("`hermes logs gateway` shows its log"),
            );
        }
        if Instant::now() > deadline {
            return Err(
                CommandError::user("the supervisor did not start the gateway in time")
                    .hint("`hermes gateway status` shows how it is doing"),
            );
        }
        std::thread::sleep(LOOK_AGAIN);
    }
}

/// The gateway that the state file speaks of.
fn recorded_pid(home: &Path) -> Option<Value> {
    StateFile::of_home(home).read()?.get("pid").cloned()
}

/// Why the last gateway of a home could not start.
fn start_failure(home: &Path) -> Option<String> {
    let state = StateFile::of_home(home).read()?;
    let text = |name: &str| state.get(name).and_then(Value::as_str);
    let has_failed = text("gateway_state") == Some(GatewayState::StartupFailed.name());
    let reason = text("exit_reason").unwrap_or("the log has the reason");
    has_failed.then(|| hermes_text::shown(reason, 300))
}
