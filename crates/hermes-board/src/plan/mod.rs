//! What a dispatcher would do with a board, decided without touching anything.
//!
//! [`plan`] is a pure function of a snapshot of the board, of what is known about workers, and of
//! the limits in force. A dry run shows its [`Report`], `why` takes its verdicts from the same
//! [`Plan`], and a dispatcher applies its actions one at a time. Nothing in here reads a clock, a
//! file or a process.

mod action;
mod age;
mod facts;
mod guard;
mod limits;
mod placement;
mod planner;
mod queue;
mod report;
mod sweep;
mod why;

pub use action::{Action, EndWorker, Plan};
pub use facts::{Facts, OwnHost, WorkerFact, WorkerRef};
pub use guard::{GuardReason, Held};
pub use limits::{CapScope, Limits, automatic_in_progress};
pub use placement::Misplaced;
pub use planner::plan;
pub use report::{
    Capped, Hampered, HeldBack, NotStarted, OnOtherHost, ProfileCapped, Report, Started, TooEarly,
};
pub use why::{Verdict, why_resting};

#[cfg(test)]
mod testing;

#[cfg(test)]
#[path = "placement_tests.rs"]
mod placement_tests;
#[cfg(test)]
#[path = "queue_tests.rs"]
mod queue_tests;
#[cfg(test)]
#[path = "sweep_tests.rs"]
mod sweep_tests;
