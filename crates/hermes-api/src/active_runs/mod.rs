//! The runs on their way, and what a run is.

mod registry;
mod run;

pub(crate) use registry::RunRegistry;
pub(crate) use run::{Run, RunEvent, RunLog, accepted};
