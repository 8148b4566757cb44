//! Where commands run: which backend the settings choose, and remote backends from first use to end.
//!
//! A backend that is not available is an error. Nothing here ever falls back to this machine.

mod choice;
mod docker;
mod idle;
mod orphans;
mod remote;

pub use self::choice::{BackendKind, live_environment};
pub use self::docker::docker_host;
pub use self::idle::IdleWatch;
pub use self::orphans::OrphanSweep;
pub(crate) use self::remote::Shutdown;
pub use self::remote::{BackendRequest, RemoteLease};
