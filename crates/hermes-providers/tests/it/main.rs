//! The crate from outside: scripts, servers on loopback, settings.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod auxiliary;
mod bad_servers;
mod bench;
mod choices;
mod fallback;
mod formats;
mod images;
mod keys;
mod local_servers;
mod replay;
mod resource_logins;
mod retries;
mod secure;
mod streams;
mod windows;
