//! Sessions in real files.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod compaction;
mod conversation;
mod lookup;
mod processes;
mod recall;
mod remove;
mod repair;
mod search;
mod test_store;
