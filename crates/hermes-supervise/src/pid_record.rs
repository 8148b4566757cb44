//! Who a gateway is, as `gateway.pid`, `gateway.lock` and `gateway_state.json` have it.

use std::path::Path;

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
}

impl PidRecord {
    /// The record of this process, which runs this program.
    pub fn own(program: &Path) -> Self {
        let pid = std::process::id();
        Self {
            pid,
            program: program.to_string_lossy().into_owned(),
            start_time: hermes_proc::start_time_of(pid),
        }
    }

    /// The fields of the record.
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

    pub(crate) fn to_json(&self) -> String {
        Value::Object(self.fields()).to_string()
    }
}
