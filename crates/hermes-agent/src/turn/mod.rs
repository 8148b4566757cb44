//! One turn: from the user's message to the answer, with any number of requests and tool calls.
//!
//! A turn always ends with a [`TurnResult`] and a stored history that can be continued.

mod answer;
mod attempts;
mod calls;
mod code_changes;
mod input;
mod machine;
mod recover;
mod result;
mod stopping_early;

pub use input::{Acknowledged, TurnInput};
pub use result::{ExitReason, TurnFailure, TurnOutcome, TurnResult};
