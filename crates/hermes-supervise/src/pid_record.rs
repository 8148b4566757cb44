//! Who a gateway is, as `gateway.pid`, `gateway.lock` and `gateway_state.json` have it.

use std::path::Path;

use hermes_home::{heartbeat_field, host_fields};
use hermes_proc::ProcessSpace;
use serde_json::{Map, Value, json};

/// What the reference calls such records.
const KIND: &str = "hermes-gateway";

/// A gateway process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PidRecord {
    pub pid: u32,
    /// Path of the program.
    program: String,
    start_time: Option<u64>,
    /// Where the pid counts, as far as the system tells.
    space: Option<ProcessSpace>,
}

impl PidRecord {
    /// The record of this process, which runs this program.
    pub fn own(program: &Path) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            program: program.to_string_lossy().into_owned(),
            start_time: hermes_proc::start_time_of(pid),
            space: ProcessSpace::own(),
        }
    }

    /// Where the pid counts.
    pub(crate) fn space(&self) -> Option<&ProcessSpace> {
        self.space.as_ref()
    }

    /// The fields of the record, as the state file has them. It does not say where the pid counts:
    /// the reference keeps what it does not know in that file when it writes its own pid.
    pub(crate) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("pid".to_owned(), json!(self.pid));
        fields.insert("kind".to_owned(), json!(KIND));
        // The reference knows a gateway by these words, and deletes the files of one that it does
        // not recognise. So there are no flags and no choice of a profile.
        let argv = [self.program.as_str(), "gateway", "run"];
        fields.insert("argv".to_owned(), json!(argv));
        fields.insert("start_time".to_owned(), json!(self.start_time));
        fields
    }

    /// The record as the pid file has it.
    pub(crate) fn to_json(&self) -> String {
        Value::Object(self.located_fields()).to_string()
    }

    /// The record as the lock file has it: with a heartbeat, for those who cannot see the lock.
    pub(crate) fn to_lock_json(&self) -> String {
        let mut fields = self.located_fields();
        fields.extend([heartbeat_field()]);
        Value::Object(fields).to_string()
    }

    fn located_fields(&self) -> Map<String, Value> {
        let mut fields = self.fields();
        fields.extend(self.space.as_ref().map(host_fields).unwrap_or_default());
        fields
    }
}
