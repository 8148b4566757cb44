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

/// Asked before a turn ends with an answer.
pub trait StopCheck: Send {
    /// What the model is reminded of instead of ending, if anything. `called` are the names of the
    /// tools that were called in this turn, `reminded` says how often it has been reminded already.
    fn reminder(&self, called: &[String], reminded: u32) -> Option<String>;
}
