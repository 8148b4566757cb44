//! Snapshots in real directories with the real git.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod hostile;
mod limits;
mod restore;
mod world;
