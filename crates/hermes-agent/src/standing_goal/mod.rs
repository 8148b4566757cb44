//! The standing goal of a session: turns follow one another until a judge finds it reached.
//!
//! The goal is kept in the store beside the session, in the form of the Python runtime, which goes on
//! with it and the other way round.

mod contract;
mod judge;
mod progress;
mod state;

pub use contract::GoalContract;
pub use judge::{Judge, Judgement, RunningProcess};
pub use progress::{GoalStep, after_turn};
pub use state::{GoalStatus, GoalWait, StandingGoal};
