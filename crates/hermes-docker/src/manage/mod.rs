//! Sandboxes as people manage them: list, stop, reset, remove, prune.
//!
//! Acts only on containers of this profile and home, or of the homes the caller names. Every
//! operation says what it did and what it left alone, and why.

mod find;
mod list;
mod prune;
mod remove;
mod report;

pub use list::{idle, list, processes};
pub use prune::prune;
pub use remove::{purge, reset, stop};
pub use report::{
    Changed, Kept, Listing, MountRow, PruneRequest, Pruned, Removed, SandboxRow, Scope,
};
