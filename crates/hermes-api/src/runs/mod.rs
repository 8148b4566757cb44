//! Runs: turns that go on without their client, told as numbered events.

mod endpoint;
mod events;
mod registry;
mod run;
mod sink;

pub(crate) use endpoint::{approve, create, events, show, stop};
pub(crate) use registry::RunRegistry;
