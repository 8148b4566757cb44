//! How many conversations of a profile are open at once (`max_concurrent_sessions`), over all
//! processes and shared with the reference: one record each in `runtime/active_sessions.json`, under
//! the lock beside it. Records of processes that are gone do not count.

use std::path::{Path, PathBuf};

use hermes_fs::{FileLock, LockOptions};
use hermes_proc::start_time_of;
use hermes_session::SessionId;
use serde_json::{Value, json};

use crate::context::Context;
use crate::error::{Error, Result};

/// Largest list that is read.
const MAX_BYTES: u64 = 1 << 20;

/// The record of an open conversation; removed when dropped.
#[derive(Debug)]
pub(crate) struct SessionSlot {
    directory: PathBuf,
    lease: String,
}

impl SessionSlot {
    /// Takes a slot for a conversation; `None` where the number is not limited. Refuses if all are
    /// taken.
    pub(crate) fn take(context: &Context, id: &SessionId) -> Result<Option<Self>> {
        let limit = context.config().int("max_concurrent_sessions");
        let Some(limit) = limit.and_then(|limit| usize::try_from(limit).ok()) else {
            return Ok(None);
        };
        if limit == 0 {
            return Ok(None);
        }
        let slot = Self {
            directory: context.location.home.join("runtime"),
            lease: format!("{}-{}", std::process::id(), SessionId::generate()),
        };
        hermes_fs::create_dir_all(&slot.directory, 0o700)?;
        let now = hermes_session::now();
        let entry = json!({
            "lease_id": slot.lease,
            "session_id": id,
            "surface": "cli",
            "pid": std::process::id(),
            "process_start_time": null,
            "start_ticks": start_time_of(std::process::id()),
            "started_at": now,
            "updated_at": now,
        });
        let open = edit(&slot.directory, |entries| {
            let open = entries.len();
            if open < limit {
                entries.push(entry);
            }
            open
        })?;
        if open >= limit {
            // Nothing was recorded, so nothing is to be removed.
            std::mem::forget(slot);
            return Err(Error::user(
                format!("{open} of {limit} conversations of this profile are open already"),
                Some("end one of them, or raise `max_concurrent_sessions`"),
            ));
        }
        Ok(Some(slot))
    }
}

impl Drop for SessionSlot {
    fn drop(&mut self) {
        let removed = edit(&self.directory, |entries| {
            entries.retain(|entry| entry["lease_id"] != self.lease.as_str());
        });
        if let Err(error) = removed {
            // The record ends with the process anyway.
            tracing::debug!(%error, "the record of an open conversation was not removed");
        }
    }
}

/// Changes the records of running processes under the lock.
fn edit<T>(directory: &Path, change: impl FnOnce(&mut Vec<Value>) -> T) -> Result<T> {
    let _held = FileLock::acquire(
        &directory.join("active_sessions.lock"),
        &LockOptions::new("active_sessions.json"),
    )?;
    let file = directory.join("active_sessions.json");
    let bytes = hermes_fs::read_optional(&file, MAX_BYTES)?.unwrap_or_default();
    // A list that cannot be read limits nobody; the next one who looks finds a good one.
    let mut stored: Value = serde_json::from_slice(&bytes).unwrap_or_default();
    let mut entries = match stored["entries"].take() {
        Value::Array(entries) => entries,
        _ => Vec::new(),
    };
    entries.retain(is_running);
    let result = change(&mut entries);
    let text = json!({"entries": entries}).to_string();
    hermes_fs::write_atomic(&file, text.as_bytes(), 0o600)?;
    Ok(result)
}

/// Whether the process of a record still runs. The reference notes the start in another unit; of its
/// records the number of the process has to do.
fn is_running(entry: &Value) -> bool {
    let pid = entry["pid"]
        .as_u64()
        .and_then(|pid| u32::try_from(pid).ok());
    let started = pid.and_then(start_time_of);
    match entry["start_ticks"].as_u64() {
        Some(ticks) => started == Some(ticks),
        None => started.is_some(),
    }
}
