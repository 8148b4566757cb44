//! The files by which gateways, commands and supervisors know of each other: who runs, in which
//! state, what the operator wants, how it ended before.
//!
//! Names and formats are the reference's; both programs may share a home. Nothing here starts or
//! signals a process.

mod claim;
mod drain_request;
mod exit_log;
mod pid_record;
mod readiness;
mod start_ledger;
mod state_file;

pub use claim::{ClaimError, GatewayClaim};
pub use drain_request::DrainRequest;
pub use exit_log::{ExitLog, PastRun};
pub use pid_record::PidRecord;
pub use readiness::Readiness;
pub use start_ledger::StartLedger;
pub use state_file::{DesiredState, GatewayState, StateFile};
