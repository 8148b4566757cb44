//! Which dashboards of a home run: `state/dashboard-PORT.lock`, locked while its dashboard lives, with
//! a record of the process in it.

use std::path::Path;
use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};
use hermes_proc::{ProcessHandle, ProcessIdentity, identity_of};
use serde_json::{Value, json};

use crate::error::{CommandError, Result};

/// How long a dashboard may take to end before it is killed.
const GRACE: Duration = Duration::from_secs(5);
const MAX_BYTES: u64 = 64 << 10;
const PREFIX: &str = "dashboard-";
const SUFFIX: &str = ".lock";

/// A dashboard that runs.
pub(super) struct RunningDashboard {
    identity: ProcessIdentity,
    port: u16,
    pub(super) url: String,
}

impl RunningDashboard {
    pub(super) fn pid(&self) -> u32 {
        self.identity.pid
    }

    pub(super) fn to_json(&self) -> Value {
        json!({"pid": self.identity.pid, "port": self.port, "url": self.url})
    }
}

/// Records this process as a dashboard, for as long as the lock is held.
pub(super) fn record(home: &Path, port: u16, url: &str) -> Result<FileLock> {
    let directory = home.join("state");
    let told = |error: hermes_fs::Error| CommandError::environment(error.to_string());
    hermes_fs::create_dir_all(&directory, 0o700).map_err(told)?;
    let path = directory.join(format!("{PREFIX}{port}{SUFFIX}"));
    let options = LockOptions {
        timeout: Duration::from_secs(2),
        ..LockOptions::new("the record of this dashboard")
    };
    let lock = FileLock::acquire(&path, &options).map_err(told)?;
    let own = identity_of(std::process::id());
    let text = json!({
        "pid": std::process::id(),
        "start_time": own.as_ref().map(|own| own.start_time),
        "boot_id": own.as_ref().map(|own| own.boot_id.as_str()),
        "port": port,
        "url": url,
    });
    lock.write(format!("{text}\n").as_bytes()).map_err(told)?;
    Ok(lock)
}

/// The dashboards of a home.
pub(super) fn running(home: &Path) -> Result<Vec<RunningDashboard>> {
    let directory = home.join("state");
    let entries = match hermes_fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(Vec::new()),
        Err(error) => return Err(CommandError::environment(error.to_string())),
    };
    let mut found: Vec<RunningDashboard> = entries
        .into_iter()
        .filter(|entry| {
            let name = entry.name.to_string_lossy();
            name.starts_with(PREFIX) && name.ends_with(SUFFIX)
        })
        .filter_map(|entry| read(&directory.join(&entry.name)))
        .collect();
    found.sort_by_key(|dashboard| dashboard.port);
    Ok(found)
}

fn read(path: &Path) -> Option<RunningDashboard> {
    if !FileLock::is_held(path).unwrap_or(false) {
        return None;
    }
    let text = hermes_fs::read_text_capped(path, MAX_BYTES).ok()?;
    let record: Value = serde_json::from_str(&text).ok()?;
    let identity = ProcessIdentity {
        pid: u32::try_from(record["pid"].as_u64()?).ok()?,
        start_time: record["start_time"].as_u64()?,
        boot_id: record["boot_id"].as_str()?.to_owned(),
    };
    hermes_proc::is_same_live_process(&identity).then_some(RunningDashboard {
        identity,
        port: u16::try_from(record["port"].as_u64()?).ok()?,
        url: record["url"].as_str()?.to_owned(),
    })
}

/// Ends these dashboards and says how many there were.
pub(super) fn stop_all(found: &[RunningDashboard]) -> hermes_proc::Result<usize> {
    let mut stopped = 0;
    for dashboard in found {
        if let Some(process) = ProcessHandle::open(&dashboard.identity)? {
            process.stop(GRACE)?;
            stopped += 1;
        }
    }
    Ok(stopped)
}
