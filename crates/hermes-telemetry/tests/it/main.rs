//! Tests of logging with real files and real processes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

mod failure;
mod follow;
mod layer;
mod message;
mod read;
mod redaction;
mod sharing;
mod writer_process;
