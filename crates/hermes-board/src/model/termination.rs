//! Workers as processes: who they are, how they ended, what was done to end them.

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::model::{Object, object};

/// What was done to the worker of a reclaimed card, as events and attempts record it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the report has these five facts in the reference"
)]
pub struct Termination {
    pub prev_pid: Option<u32>,
    pub host_local: bool,
    /// Whether it was signalled.
    pub termination_attempted: bool,
    /// Whether nothing of it is left.
    pub terminated: bool,
    pub sigkill: bool,
}

impl Termination {
    /// The report as an object.
    pub(crate) fn to_object(self) -> Object {
        object(json!(self))
    }
}

/// Key of the dispatcher's identity in the metadata of an attempt.
const DISPATCHER: &str = "dispatcher";

/// Tells a worker from a later process with the same id.
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
        Self::deserialize(metadata).ok()
    }

    /// The metadata of an attempt of this worker.
    pub(crate) fn to_object(&self) -> Object {
        object(json!(self))
    }

    /// Finds the dispatcher that claimed a card for a worker that is not recorded yet.
    pub(crate) fn of_dispatcher(metadata: &Object) -> Option<Self> {
        Self::from_metadata(metadata.get(DISPATCHER)?.as_object()?)
    }

    /// The metadata of an attempt whose worker is about to be started by this process.
    pub(crate) fn as_dispatcher(&self) -> Object {
        object(json!({ DISPATCHER: self }))
    }
}

/// How a worker exited that left its card running.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorkerExit {
    /// With this code; 0 is a protocol violation, 75 a used-up quota.
    Code(i32),
    Signal(i32),
    /// The worker is gone; its exit is unknown.
    Unknown,
}

impl WorkerExit {
    /// The exit code of a worker that reached the quota of its provider.
    pub const QUOTA_WALL: i32 = 75;
}

impl WorkerExit {
    /// The error recorded on the card, which the next worker reads.
    pub fn describe(self, pid: Option<i64>) -> String {
        let pid = pid.unwrap_or_default();
        match self {
            Self::Code(0) => {
                "the worker exited with code 0 and neither completed nor blocked its card: \
                a protocol violation. If the work is done, verify it and complete the card; an \
                attempt that does neither counts as failed"
                    .to_owned()
            }
            Self::Code(Self::QUOTA_WALL) => {
                format!("pid {pid} reached the quota of its provider; not counted as a failure")
            }
            Self::Code(code) => format!("pid {pid} exited with code {code}"),
            Self::Signal(signal) => format!("pid {pid} was killed by signal {signal}"),
            Self::Unknown => format!("pid {pid} is not alive"),
        }
    }
}
