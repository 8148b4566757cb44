//! Logins to an MCP server that nobody here wrote: the SDK of PyPI with its authorisation server, in
//! the version named in `guarded_server`. The browser is played by plain HTTP.
//!
//! Needs Python with PyPI. The package is installed once below the target directory; if that fails, so
//! do the tests, with the reason.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests look at files and run programs directly"
)]

mod guarded_server;
mod login;
mod renewal;
mod session;

use hermes_testkit::TestHome;

/// A home of its own for the program under test.
fn fresh() -> TestHome {
    TestHome::new(env!("CARGO_BIN_EXE_hermes"))
}
