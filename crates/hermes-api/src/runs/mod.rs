//! Runs: turns that go on without their client, told as numbered events.

mod begin;
mod endpoint;
mod events;
mod sink;

pub(crate) use begin::{begin, run_order};
pub(crate) use endpoint::{approve, create, events, show, stop};
