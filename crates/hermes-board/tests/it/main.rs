//! `hermes-board` against real files, threads and processes.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

/// Whether the boards of these tests are on a server.
const ON_SERVER: bool = false;

mod boards;
mod check_round;
mod checks;
mod concurrency;
mod dispatch;
mod dispatch_failures;
mod fencing;
mod files;
mod fixture;
mod full_disk;
mod hosts;
mod killed;
mod lifecycle;
mod lists;
mod opening;
mod reviews;
mod setup;
mod texts;
mod triage;
mod workers;

use fixture::{assignee, below, card, claim, claimant, complete, file, try_claim};
use setup::{Fixture, START, events, exited, kinds, mode, move_to, process, status, task};
