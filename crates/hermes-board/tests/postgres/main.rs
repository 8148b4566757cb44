//! The tests of boards that `it` runs on files, on a real PostgreSQL server; and what only a server can
//! do wrong.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::disallowed_methods,
    reason = "tests access files directly"
)]

/// Whether the boards of these tests are on a server.
const ON_SERVER: bool = true;

#[path = "../it/check_round.rs"]
mod check_round;
#[path = "../it/checks.rs"]
mod checks;
#[path = "../it/concurrency.rs"]
mod concurrency;
#[path = "../it/dispatch.rs"]
mod dispatch;
#[path = "../it/dispatch_failures.rs"]
mod dispatch_failures;
#[path = "../it/fencing.rs"]
mod fencing;
#[path = "../it/files.rs"]
mod files;
#[path = "../it/fixture.rs"]
mod fixture;
#[path = "../it/hosts.rs"]
mod hosts;
#[path = "../it/lifecycle.rs"]
mod lifecycle;
#[path = "../it/lists.rs"]
mod lists;
#[path = "../it/reviews.rs"]
mod reviews;
#[path = "../it/setup.rs"]
mod setup;
#[path = "../it/texts.rs"]
mod texts;
#[path = "../it/triage.rs"]
mod triage;
#[path = "../it/workers/mod.rs"]
mod workers;

mod refused;
mod several_dispatchers;

use fixture::{assignee, below, card, claim, claimant, complete, file, try_claim};
use setup::{Fixture, START, events, exited, kinds, mode, move_to, process, status, task};
