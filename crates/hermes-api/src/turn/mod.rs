//! Turns of conversations: begun for a request, run on a thread of their own, heard of by a sink.

mod control;
mod history;
mod job;
mod kept;
mod lease;
mod order;
mod person;
mod progress;
mod run;
mod silence;
mod telling;

pub(crate) use control::{StopCause, TurnControl};
pub(crate) use history::HistoryMessage;
pub(crate) use order::{TurnEnd, TurnOrder, TurnSink, Update, WhenDifferent};
pub(crate) use person::TurnApprover;
pub(crate) use progress::{Progress, TurnMessages, mark_interrupted};
pub(crate) use run::{ReservedTurn, SOURCE, Turns};
pub(crate) use telling::{Collect, Format};
