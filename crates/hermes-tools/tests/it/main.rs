//! Tools through the registry, against real files and processes.
#![allow(
    clippy::panic,
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "tests look at files directly"
)]

mod execute_code;
mod interpreter;
mod patch;
mod read;
mod registry;
mod rpc;
mod search;
mod stage;
mod write;
