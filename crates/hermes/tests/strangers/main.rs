//! Model servers that were written by others, from the public registries: what the program says and
//! hears is understood by code that has never seen it.
//!
//! Needs Python with PyPI and the registry of npm. Both servers are installed once below the target
//! directory, in the versions named in `packages`; if that fails, so do the tests, with the reason.
#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::panic,
    reason = "tests look at files and run programs directly"
)]

mod careless;
mod every_wire;
mod packages;
mod stranger;
