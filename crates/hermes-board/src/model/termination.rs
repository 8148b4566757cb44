//! Workers as processes: who they are, how they ended, what was done to end them.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::model::Object;

/// What was done to a worker whose claim is taken away, as events and attempts record it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the report has these five facts in the reference"
)]
pub struct Termination {
    /// The worker.
    pub prev_pid: Option<u32>,
    /// Whether it ran on this machine.
    pub host_local: bool,
    /// Whether it was signalled.
    pub termination_attempted: bool,
    /// Whether nothing of it is left.
    pub terminated: bool,
    /// Whether that took SIGKILL.
    pub sigkill: bool,
}

impl Termination {
    /// The report as an object.
    pub(crate) fn to_object(self) -> Object {
        match serde_json::to_value(self) {
            Ok(Value::Object(map)) => map,
            // Five plain fields always become an object.
            _ => Object::new(),
        }
    }
}

/// Where metadata tells who is about to start a worker.
const DISPATCHER: &str = "dispatcher";

/// What tells a worker from a later process with the same number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerIdentity {
    /// When it started, in the kernel's units.
    pub start: u64,
    /// The boot in which that counts.
    pub boot_id: String,
}

impl WorkerIdentity {
    /// Finds the identity in the metadata of an open attempt.
    pub(crate) fn from_metadata(metadata: &Object) -> Option<Self> {
        Some(Self {
            start: metadata.get("start")?.as_u64()?,
            boot_id: metadata.get("boot_id")?.as_str()?.to_owned(),
        })
    }

    pub(crate) fn add_to(&self, object: &mut Object) {
        object.insert("start".to_owned(), json!(self.start));
        object.insert("boot_id".to_owned(), json!(self.boot_id));
    }

    /// Finds who claimed a card for a worker that is not recorded yet.
    pub(crate) fn of_dispatcher(metadata: &Object) -> Option<Self> {
        Self::from_metadata(metadata.get(DISPATCHER)?.as_object()?)
    }

    /// The metadata of an attempt whose worker is about to be started by this process.
    pub(crate) fn as_dispatcher(&self) -> Object {
        let mut own = Object::new();
        self.add_to(&mut own);
        Object::from_iter([(DISPATCHER.to_owned(), Value::Object(own))])
    }
}

/// How a worker ended that left its card running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerExit {
    /// With this code; 0 means that it forgot its card, 75 that a quota was used up.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// It is gone, and nobody saw how.
    Unknown,
}

impl WorkerExit {
    /// The code of a worker that met a provider's quota wall.
    pub const QUOTA_WALL: i32 = 75;
}

impl WorkerExit {
    /// The error that is kept with the card. The next worker reads it.
    pub fn describe(self, pid: Option<i64>) -> String {
        let pid = pid.unwrap_or_default();
        match self {
            Self::Code(0) => "the worker ended with exit code 0 and neither completed nor blocked \
                its card: a protocol violation. If the work is done, verify it and complete the \
                card; an attempt without that counts as failed, whatever it did"
                .to_owned(),
            Self::Code(Self::QUOTA_WALL) => {
                format!("pid {pid} met the quota wall of its provider; not counted as a failure")
            }
            Self::Code(code) => format!("pid {pid} exited with code {code}"),
            Self::Signal(signal) => format!("pid {pid} was killed by signal {signal}"),
            Self::Unknown => format!("pid {pid} is not alive"),
        }
    }
}
