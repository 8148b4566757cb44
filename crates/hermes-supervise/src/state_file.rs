//! `gateway_state.json`: what a gateway says of itself, and what the operator wants.
//!
//! Gateway and commands both write it, so that every change is a locked read-modify-write. Unknown
//! fields are kept. After SIGKILL the file still says `running`: whether a gateway lives is for
//! [`hermes_home::gateway_pid`] to say.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};
use hermes_home::utc_now;
use hermes_text::named_enum;
use serde_json::{Map, Value, json};

use crate::PidRecord;

/// The file lists services and platforms; a megabyte of it is a mistake.
const LIMIT: u64 = 1024 * 1024;

/// A change takes milliseconds.
const LOCK_TIMEOUT: Duration = Duration::from_secs(5);

named_enum! {
    /// The states of a gateway.
    pub enum GatewayState {
        Starting = "starting",
        Running = "running",
        /// Takes no new work: it is about to stop, or somebody asked for it.
        Draining = "draining",
        Stopped = "stopped",
        /// The configuration cannot be used.
        StartupFailed = "startup_failed",
    }
}

named_enum! {
    /// What the operator wants.
    pub enum DesiredState {
        Running = "running",
        Stopped = "stopped",
    }
}

/// The state file of a home.
#[derive(Debug, Clone)]
pub struct StateFile {
    path: PathBuf,
}

impl StateFile {
    /// The file of a home, which need not exist.
    pub fn of_home(home: &Path) -> Self {
        Self {
            path: home.join("gateway_state.json"),
        }
    }

    /// The file itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the file says; `None` if there is none or it cannot be read as an object.
    pub fn read(&self) -> Option<Map<String, Value>> {
        self.load().ok().flatten()
    }

    /// Writes that a gateway begins: nothing of what an earlier one said of itself is left.
    pub fn begin(&self, record: &PidRecord) -> hermes_fs::Result<()> {
        self.change(|state| {
            for (name, value) in [
                ("exit_reason", Value::Null),
                ("restart_requested", json!(false)),
                ("active_agents", json!(0)),
                ("platforms", json!({})),
                ("services", json!({})),
            ] {
                state.insert(name.to_owned(), value);
            }
            state.shift_remove("served_profiles");
            state.extend(record.fields());
            state.insert(
                "gateway_state".to_owned(),
                json!(GatewayState::Starting.name()),
            );
        })
    }

    /// Changes fields in the name of a gateway.
    pub fn update(
        &self,
        record: &PidRecord,
        fields: impl IntoIterator<Item = (&'static str, Value)>,
    ) -> hermes_fs::Result<()> {
        self.change(|state| {
            state.extend(record.fields());
            for (name, value) in fields {
                state.insert(name.to_owned(), value);
            }
        })
    }

    /// Writes what the operator wants. Says nothing about any gateway.
    pub fn want(&self, desired: DesiredState) -> hermes_fs::Result<()> {
        self.change(|state| {
            state.insert("desired_state".to_owned(), json!(desired.name()));
        })
    }

    fn change(&self, edit: impl FnOnce(&mut Map<String, Value>)) -> hermes_fs::Result<()> {
        let mut lock = self.path.clone().into_os_string();
        lock.push(".lock");
        let options = LockOptions {
            timeout: LOCK_TIMEOUT,
            ..LockOptions::new("the state file of the gateway")
        };
        let _lock = FileLock::acquire(Path::new(&lock), &options)?;
        let mut state = match self.load()? {
            Some(state) => state,
            None => Map::new(),
        };
        edit(&mut state);
        state.insert("updated_at".to_owned(), json!(utc_now()));
        let text = Value::Object(state).to_string();
        // Whoever may write into the home must not choose which file is written.
        hermes_fs::write_atomic_in_place(&self.path, text.as_bytes(), 0o600)
    }

    /// Garbage counts as no file: it says nothing that could be kept.
    fn load(&self) -> hermes_fs::Result<Option<Map<String, Value>>> {
        let bytes = match hermes_fs::read_optional(&self.path, LIMIT) {
            Ok(Some(bytes)) => bytes,
            Ok(None) | Err(hermes_fs::Error::TooLarge { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        match serde_json::from_slice(&bytes) {
            Ok(Value::Object(state)) => Ok(Some(state)),
            Ok(_) | Err(_) => {
                tracing::warn!(path = %self.path.display(), "the state file of the gateway is not JSON and is replaced");
                Ok(None)
            }
        }
    }
}

#[cfg(test)]
#[path = "state_file_tests.rs"]
mod tests;
