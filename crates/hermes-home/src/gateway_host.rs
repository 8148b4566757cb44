//! Gateways of a home that live in another container or on another machine.
//!
//! On one machine the lock of a home decides who its gateway is. Shared by machines, a file system
//! may keep the locks of each to itself; so the lock file also says where its owner lives, with a
//! heartbeat that the owner renews.

use std::path::Path;

use hermes_fs::FileLock;
use hermes_proc::ProcessSpace;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::gateway_record;

/// How old a heartbeat may be, in seconds, until its gateway counts as dead.
const HEARTBEAT_LIMIT: i64 = 30;

const HOST_NAME: &str = "hostname";
const BOOT_ID: &str = "boot_id";
const PID_NAMESPACE: &str = "pid_namespace";
const HEARTBEAT: &str = "heartbeat";

/// What the record of a gateway says about where its pid counts.
pub fn host_fields(space: &ProcessSpace) -> Map<String, Value> {
    let mut fields = Map::new();
    fields.insert(HOST_NAME.to_owned(), json!(space.host_name));
    fields.insert(BOOT_ID.to_owned(), json!(space.boot_id));
    fields.insert(PID_NAMESPACE.to_owned(), json!(space.pid_namespace));
    fields
}

/// The field by which the owner of the lock says that it lives, as of now.
pub fn heartbeat_field() -> (String, Value) {
    (HEARTBEAT.to_owned(), json!(crate::utc_now()))
}

/// Where the pid of a record counts, if it says so. Records of the reference do not.
fn space_in(record: &Value) -> Option<ProcessSpace> {
    let text = |name: &str| Some(record.get(name)?.as_str()?.to_owned());
    Some(ProcessSpace {
        host_name: text(HOST_NAME)?,
        boot_id: text(BOOT_ID)?,
        pid_namespace: text(PID_NAMESPACE)?,
    })
}

/// Whether the pid of a record means nothing here.
pub(crate) fn is_foreign(record: &Value) -> bool {
    space_in(record)
        .is_some_and(|theirs| ProcessSpace::own().is_some_and(|own| !own.shares_pids_with(&theirs)))
}

/// The host of a live gateway of this home that is in another container or on another machine.
pub fn gateway_elsewhere(home: &Path) -> Option<String> {
    let path = home.join("gateway.lock");
    let record = gateway_record::load(&path)?;
    let own = ProcessSpace::own()?;
    // A lock that cannot be looked at is as good as none: the heartbeat is left.
    let is_held = FileLock::is_held(&path).unwrap_or(false);
    owner_elsewhere(&record, is_held, &own)
}

/// The same for who holds the lock of the home now: is it still the one who is recorded?
pub fn owner_elsewhere_beside(home: &Path, own: &ProcessSpace) -> Option<String> {
    let record = gateway_record::load(&home.join("gateway.lock"))?;
    // Our own lock keeps nobody else of this machine in place.
    owner_elsewhere(&record, false, own)
}

fn owner_elsewhere(record: &Value, is_held: bool, own: &ProcessSpace) -> Option<String> {
    let theirs = space_in(record)?;
    if theirs.shares_pids_with(own) || !is_fresh(record) {
        return None;
    }
    let lives = if theirs.shares_kernel_with(own) {
        // The lock tells the truth about all processes of one kernel.
        is_held
    } else {
        // A host that has this one's name is this one before it was started again, or moved.
        is_held || theirs.host_name != own.host_name
    };
    lives.then_some(theirs.host_name)
}

/// Whether the owner has renewed its heartbeat lately. One from the future is no better than an old
/// one: nobody knows when it will be.
fn is_fresh(record: &Value) -> bool {
    let beat = record.get(HEARTBEAT).and_then(Value::as_str);
    let beat: Option<Timestamp> = beat.and_then(|beat| beat.parse().ok());
    beat.is_some_and(|beat| {
        let age = Timestamp::now().as_second() - beat.as_second();
        age.abs() < HEARTBEAT_LIMIT
    })
}

#[cfg(test)]
#[path = "gateway_host_tests.rs"]
mod tests;
