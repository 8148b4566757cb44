//! The crate from outside: scripts, servers on loopback, settings.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod replay;
