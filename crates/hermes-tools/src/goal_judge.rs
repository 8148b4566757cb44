//! The seam by which a completion is judged before it counts.
//!
//! Cards with a goal are worked on until somebody other than the worker finds it reached. Who that
//! is, tools do not know: models are asked above them.

use hermes_proc::Wake;

/// What is to be reached, and what was said about it.
#[derive(Debug, Clone, Copy)]
pub struct GoalClaim<'a> {
    /// Title of the card.
    pub title: &'a str,
    /// Its body; may be empty.
    pub body: &'a str,
    /// What the worker says it has done.
    pub said: &'a str,
}

/// What a judge finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalVerdict {
    /// The goal is reached.
    Reached,
    /// It is not; why, in a sentence.
    NotYet(String),
    /// There is no verdict: nobody could be asked, or what was answered is none. Why, in a sentence.
    Unjudged(String),
}

/// Judges whether goals are reached.
pub trait GoalJudge: Send + Sync {
    /// Judges a claim. Raising the flag ends it early, without a verdict.
    fn judge(&self, claim: &GoalClaim<'_>, interrupt: &Wake) -> GoalVerdict;
}
