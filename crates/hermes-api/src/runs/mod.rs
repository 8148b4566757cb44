//! Runs: turns that go on without their client, told as numbered events.

mod begin;
mod endpoint;
mod events;
mod registry;
mod run;
mod sink;

pub(crate) use begin::{begin, run_order};
pub(crate) use endpoint::{accepted, approve, create, events, show, stop};
pub(crate) use registry::RunRegistry;
pub(crate) use run::{Run, RunLog};
