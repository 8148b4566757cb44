//! Gateways and those who look after them: the files by which they know of each other (who runs, in
//! which state, what the operator wants, how it ended before), and the service managers of a machine.
//!
//! Names and formats of the files are the reference's; both programs may share a home. Nothing here
//! starts or signals a gateway but its manager.

mod account;
mod boot_log;
mod claim;
mod definition;
mod drain_request;
mod exit_log;
mod launchd;
mod launchd_plist;
mod main_command;
mod manager;
mod pid_record;
mod readiness;
mod reconcile;
mod s6;
mod start_ledger;
mod state_file;
mod systemd;
mod systemd_unit;
mod token_locks;

pub use account::Account;
pub use boot_log::append as append_boot_log;
pub use claim::{ClaimError, GatewayClaim};
pub use definition::{DefinitionError, GatewayDefinition, drain_timeout};
pub use drain_request::DrainRequest;
pub use exit_log::{ExitLog, PastRun};
pub use launchd::Launchd;
pub use main_command::MainCommand;
pub use manager::{Caller, Definition, ManagerError, ServiceManager};
pub use pid_record::PidRecord;
pub use readiness::Readiness;
pub use reconcile::{BootAction, Reconcile, ReconcileRow, Reconciled};
pub use s6::{
    Owner, Registrar, RegistrarError, S6, SlotStatus, Slots, is_s6, prepare_scan_directory,
    prepare_static_service,
};
pub use start_ledger::StartLedger;
pub use state_file::{DesiredState, GatewayState, StateFile};
pub use systemd::{Systemd, SystemdScope};
pub use token_locks::TokenLocks;
