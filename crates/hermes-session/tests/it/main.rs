//! Sessions in real files.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod compacting;
mod conversation;
mod finding;
mod mending;

mod processes;
mod recalling;
mod removing;
mod searching;
mod world;
