//! The goal of a card: whether it is reached is judged by somebody other than the worker. Models are
//! asked above this crate, behind [`GoalJudge`].

use hermes_proc::Wake;

/// A goal, and what the worker says about it.
#[derive(Debug, Clone, Copy)]
pub struct GoalClaim<'a> {
    pub title: &'a str,
    /// Body of the card; may be empty.
    pub body: &'a str,
    pub summary: &'a str,
}

/// The verdict of a judge.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GoalVerdict {
    Reached,
    /// The goal is not reached, with the reason as a sentence.
    NotYet(String),
    /// There is no verdict: nobody could be asked, or the answer was none. With the reason.
    Unjudged(String),
}

/// Judges whether goals are reached.
pub trait GoalJudge: Send + Sync {
    /// Judges a claim. An interrupt ends it early, without a verdict.
    fn judge(&self, claim: &GoalClaim<'_>, interrupt: &Wake) -> GoalVerdict;
}
