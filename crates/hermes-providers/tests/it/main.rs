//! The crate from outside: scripts, servers on loopback, settings.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod bad_servers;
mod bench;
mod choices;
mod fallback;
mod formats;
mod keys;
mod replay;
mod retries;
mod side_tasks;
mod streams;
mod windows;
