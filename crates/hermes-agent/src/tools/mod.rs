//! The calls of one answer: which tool each means, in which order and beside which others it runs,
//! how much of its result goes back.

mod execute;
mod loop_guard;
mod names;
mod plan;
mod size;

pub(crate) use execute::{Batch, Executed, Planned, error_text};
pub(crate) use loop_guard::LoopGuard;
pub use loop_guard::LoopGuardSettings;
pub(crate) use names::meant;
pub(crate) use plan::{Planning, Segment, segments};
pub(crate) use size::{Limits, Sized, as_sent};
