//! Turns of conversations: begun for a request, run on a thread of their own, heard of by a sink.

mod control;
mod history;
mod kept;
mod lease;
mod order;
mod person;
mod run;
mod telling;

pub(crate) use control::TurnControl;
pub(crate) use history::HistoryMessage;
pub(crate) use order::{TurnEnd, TurnOrder, TurnSink, Update, WhenDifferent};
pub(crate) use person::TurnApprover;
pub(crate) use run::{SOURCE, Turns};
pub(crate) use telling::{Collect, Format};
