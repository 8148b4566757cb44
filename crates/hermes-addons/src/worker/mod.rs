//! Workers: the processes that run add-ons, spoken with over MCP.
//!
//! A worker gets no variable of ours but those that every program needs; keys travel in its first
//! message, and only those that the catalog names for the feature. Whatever it does, it can only fail
//! its own calls: it has limits of the kernel, a process group of its own, and ends with this process.

mod calls;
mod history;
mod log;
mod message;
mod plan;
mod pool;
mod process;
mod resident;
pub(crate) mod shim;

pub use history::{WorkerRow, WorkerState};
pub use pool::{Invocation, WorkerHost, Workers};
pub use resident::Residents;
