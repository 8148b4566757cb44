//! `hermes-home` against a real file system.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod alias;
mod crash;
mod create;
mod delete;
mod distribution;
mod ensure;
mod gateway_probe;
mod list;
mod location;
mod place;
mod select;
