//! What sandboxed commands of this machine may write, see and reach.
//!
//! A [`SandboxPolicy`] is resolved from the settings and from what is on the disk; nothing is changed.
//! `hermes-proc` enforces the plan that comes of it.

mod caches;
mod facts;
mod git;
mod hidden;
mod look;
mod policy;
mod settings;

pub use facts::SandboxFacts;
pub use look::Looked;
pub use policy::{SandboxPolicy, Writable, WriteReason};
pub use settings::{SandboxMode, SandboxSettings};
