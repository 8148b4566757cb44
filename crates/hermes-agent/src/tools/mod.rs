//! The tool calls of one answer: names, order, execution and size of results.

mod call_order;
mod execute;
mod loop_guard;
mod result_size;
mod tool_names;

use call_order::segments;
pub(crate) use execute::{Batch, ExecutedCall, PlannedCall, error_text};
pub(crate) use loop_guard::LoopGuard;
pub use loop_guard::{LoopGuardSettings, RepeatLimits};
pub(crate) use result_size::{ResultLimits, as_sent};
pub(crate) use tool_names::intended_tool;
