//! Whether a gateway runs for a home, found out without leaving a trace.
//!
//! Never writes, creates or deletes: a probe that did would race with a gateway that is starting.

use std::path::Path;

use hermes_fs::FileLock;
use hermes_proc::{identity_of, is_zombie, start_time_of};
use serde_json::Value;

use crate::gateway_host::is_foreign;
use crate::gateway_record;
use crate::hermes_command::{command_of_process, known_hermes, may_be_of_home};

/// States in which the last gateway said goodbye.
const ENDED_STATES: &[&str] = &["stopped", "startup_failed"];

/// The pid of the gateway of a home, if one runs: by its lock, pid and state files, and by the
/// process they name.
pub fn gateway_pid(home: &Path) -> Option<u32> {
    let lock = home.join("gateway.lock");
    match FileLock::is_held(&lock) {
        Ok(true) => {
            let by_lock = gateway_record::load(&lock);
            // Whoever holds it, no process here is meant, whatever the other files say.
            if by_lock.as_ref().is_some_and(is_foreign) {
                return None;
            }
            let record = gateway_record::load(&home.join("gateway.pid"))
                .filter(|record| pid_in(record).is_some())
                .or(by_lock);
            if let Some(pid) = record.as_ref().and_then(gateway_in) {
                return Some(pid);
            }
        }
        // Nobody holds it: there is no gateway, whatever the other files say.
        Ok(false) if hermes_fs::exists_no_follow(&lock) => return None,
        // No lock file: a status command of the reference deletes the file under a running
        // gateway. Unreadable: the state file may still be.
        Ok(false) | Err(_) => {}
    }
    pid_by_state(home)
}

/// The pid of a live gateway that the records of a home name, whoever holds its lock. For a gateway
/// that has just taken the lock: the one before it may have lost the file it had locked.
pub fn recorded_gateway(home: &Path) -> Option<u32> {
    let record = gateway_record::load(&home.join("gateway.pid"));
    record
        .as_ref()
        .and_then(gateway_in)
        .or_else(|| pid_by_state(home))
}

fn pid_by_state(home: &Path) -> Option<u32> {
    let state = gateway_record::load(&home.join("gateway_state.json"))?;
    let name = state.get("gateway_state").and_then(Value::as_str)?;
    if ENDED_STATES.contains(&name) {
        return None;
    }
    // A home that was copied has the state of the other one's gateway.
    gateway_in(&state).filter(|pid| {
        known_hermes(*pid).is_some_and(|command| may_be_of_home(*pid, &command, home))
    })
}

/// The pid of the live gateway that a record means: the record names the process exactly, whatever its
/// program is called, or the process looks like one.
fn gateway_in(record: &Value) -> Option<u32> {
    let pid = live_pid(record)?;
    let looks_like_one = || command_of_process(pid).is_some_and(|command| command.hosts_gateway());
    (is_exact(record) || looks_like_one()).then_some(pid)
}

/// The pid in a record as gateways write it: an object with `pid` and `start_time`, or a bare
/// integer.
fn pid_in(record: &Value) -> Option<u32> {
    let pid = record.get("pid").unwrap_or(record).as_u64()?;
    u32::try_from(pid).ok().filter(|pid| *pid > 0)
}

/// Whether a record of a live process can only mean a gateway, whatever its program is called.
fn is_exact(record: &Value) -> bool {
    record.get("kind").and_then(Value::as_str) == Some("hermes-gateway")
        && record.get("start_time").is_some_and(Value::is_u64)
}

/// The pid, if a live process of this host has it that started when the record says.
fn live_pid(record: &Value) -> Option<u32> {
    let pid = pid_in(record)?;
    if is_foreign(record) {
        return None;
    }
    let started = start_time_of(pid)?;
    let recorded = record.get("start_time").and_then(Value::as_u64);
    let same = recorded.is_none_or(|recorded| recorded == started);
    (same && !is_zombie(pid) && identity_of(pid).is_some()).then_some(pid)
}
