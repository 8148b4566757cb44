//! `hermes-home` against real files and processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod archive;
mod backup;
mod database;
// The hook that kills exists in debug builds only.
#[cfg(debug_assertions)]
mod killed;
mod restore;
mod tree;
