//! Files that go along to the other machine and come back changed.
//!
//! Before a command, what changed here is sent in one stream and put in place there only when it has
//! arrived whole; at the end, what changed there comes back the same way. What was sent last is kept
//! in the home, so a new start sends nothing that is there already. Credentials go and never return.

mod archive_mark;
mod error;
mod file_sync;
mod incoming;
mod manifest;
mod merge;
mod outgoing;
mod plan;
mod schedule;
mod scripts;

pub(super) use file_sync::{Demand, FileSync, There};
pub use merge::PulledBack;
