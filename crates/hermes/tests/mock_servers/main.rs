//! Mock model servers from the public registries: they check that the wire formats of the program
//! are understood by independent code.
//!
//! Needs Python with PyPI and the registry of npm. Both servers are installed once below the target
//! directory, in the versions named in `packages`; if that fails, so do the tests, with the reason.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests look at files and run programs directly"
)]

mod ai_mock;
mod aimock;
mod mock_server;
mod packages;
