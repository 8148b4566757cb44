//! One turn: from what the person says to the answer, through as many requests and calls as that
//! takes.
//!
//! A turn never ends without a [`TurnResult`], and what it stored is a history that can be gone on
//! with, wherever it ended.

mod answer;
mod budget;
mod calls;
mod input;
mod machine;
mod recover;
mod result;
mod tries;

pub use input::TurnInput;
pub(crate) use machine::{cost, run};
pub use result::{ExitReason, Outcome, TurnFailure, TurnResult};

/// Sees what tools answer, and is asked before a turn ends with an answer.
pub trait StopCheck: Send {
    /// A tool has answered.
    fn note(&mut self, tool: &str, result: &serde_json::Value);

    /// What the model is reminded of instead of ending, if anything.
    fn reminder(&mut self) -> Option<String>;
}
