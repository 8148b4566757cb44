//! `hermes-home` against real files and processes.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod alias;
mod archive;
mod backup;
mod create;
mod database;
mod delete;
mod distribution;
mod ensure;
mod gateway_probe;
mod list;
mod location;
mod place;
mod select;
// The hook that kills exists in debug builds only.
#[cfg(debug_assertions)]
mod crash;
#[cfg(debug_assertions)]
mod killed;
mod restore;
mod tree;
