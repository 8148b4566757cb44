//! The container image, built by `scripts/image` around the program under test, on a real engine.
//!
//! `// check N` names the acceptance check of the chapter on profiles and services that a test shows.
//! Commands inside are the runtime user's unless a test is about root.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::disallowed_methods,
    reason = "tests look at containers from outside"
)]

mod addons;
mod board;
mod boot;
mod compose;
mod container;
mod dashboard;
mod gateways;
mod patterns;
mod sealed;
mod unprivileged;
