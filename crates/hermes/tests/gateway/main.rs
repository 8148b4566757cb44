//! `hermes gateway` as operators and supervisors meet it: real processes in a home of their own.
//!
//! `// services N` and `// gateway N` name the acceptance checks of the chapters on services and on
//! the gateway that a test shows.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files and processes directly"
)]

mod api_restart;
mod api_server;
mod bad_input;
mod commands;
mod disk;
mod drain;
mod handlers;
mod instance;
mod memory;
mod notifier;
mod other_host;
mod post;
mod readiness;
mod signals;
