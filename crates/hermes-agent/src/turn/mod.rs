//! One turn: from the user's message to the answer, with any number of requests and tool calls.
//!
//! A turn always ends with a [`TurnResult`] and a stored history that can be continued.

mod answer;
mod attempts;
mod budget;
mod calls;
mod input;
mod machine;
mod recover;
mod result;

pub use input::TurnInput;
pub(crate) use machine::{cost, run};
pub use result::{ExitReason, TurnFailure, TurnOutcome, TurnResult};

/// Sees tool results, and can prevent a turn from ending with an answer.
pub trait StopCheck: Send {
    /// Sees a tool result.
    fn note(&mut self, tool: &str, result: &serde_json::Value);

    /// A reminder for the model instead of ending, if any.
    fn reminder(&mut self) -> Option<String>;
}
