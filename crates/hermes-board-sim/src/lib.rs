//! The dispatcher against a hostile world, thousands of times a second.
//!
//! A board in memory, machines with processes, clocks and dispatchers are driven by a seeded
//! generator through whatever can happen: workers that exit, crash, hang, lie, leave processes
//! behind; dispatchers killed between any two writes; machines that restart, change their name or
//! their clock; people who do something else meanwhile. Planner and [`hermes_board::dispatch::Tick`] are
//! the real ones. In half of the stories the board is on a server that several machines share: links are
//! cut, answers lost or late, the server restarts and forgets what was not forced to its disk, machines
//! have one name and clocks that are hours apart. After each step everything that must always hold is looked at, and from time to
//! time the world is made to behave, to see that no card stays behind. The same seed gives the same
//! story; a story that ends badly is cut down to what it needs.

mod board;
mod check_sessions;
mod generate;
mod invariants;
mod machine;
mod network;
mod op;
mod people;
mod random;
mod run;
mod settle;
mod shrink;
mod snapshot;
mod store;
mod subject;
mod workers;
mod world;

pub use op::{Act, Form, Hold, Op, Which};
pub use run::{Failure, Outcome, Request, simulate};

use subject::{CardView, Subject};

/// A rule that is left out, to show that it is missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Flaw {
    /// A claim succeeds whoever holds the card.
    ClaimsWithoutCheck,
    /// A card is reclaimed though its claim has changed since the snapshot.
    ReclaimsWithoutCheck,
    /// An attempt that is over can complete the card.
    CompletesForAnyAttempt,
    /// What a worker left running does not count.
    OverlooksSurvivors,
    /// A process is whoever has the number.
    TrustsNumbers,
    /// A dry run writes.
    DryRunWrites,
    /// Cards that wait for nothing any more stay where they are.
    ForgetsToPromote,
    /// A claim counts on what was in progress when it was planned.
    ClaimsBeyondLimits,
    /// Whoever knows the number of an attempt has claimed the card.
    TrustsAttemptNumbers,
    /// A machine of the same name is taken for this one.
    TrustsNames,
}

/// A violated invariant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Violation {
    rule: Rule,
    text: String,
}

/// The invariants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// Status, claim, attempt and worker of a card fit together; none is lost.
    HangsTogether,
    /// Nobody works on a card beside somebody else.
    OneWorker,
    /// Only the worker that is meant is ended.
    OnlyTheMeant,
    /// A claim in force is respected.
    ClaimCounts,
    /// Only the attempt in progress completes a card.
    OnlyTheCurrentAttempt,
    /// At most one live worker can write to a card, on any machine.
    OneWriter,
    /// Limits on cards in progress hold over all machines.
    LimitsHold,
    /// A dry run changes nothing.
    DryRunChangesNothing,
    /// What a dry run says is what happens.
    DryRunIsRight,
    /// No card stays behind.
    NothingIsStuck,
}

impl Violation {
    fn new(rule: Rule, text: impl Into<String>) -> Self {
        Self {
            rule,
            text: text.into(),
        }
    }
}

#[cfg(test)]
mod sqlite_tests;
#[cfg(test)]
mod tests;
