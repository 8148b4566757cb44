//! Turns of conversations: begun for a request, run on a thread of their own, heard of by a sink.

mod control;
mod history;
mod job;
mod kept;
mod lease;
mod open_store;
mod order;
mod person;
mod progress;
mod run;
mod running;
mod silence;
mod telling;
mod threads;

pub(crate) use control::{StopCause, TurnControl};
pub(crate) use history::{HistoryMessage, WhenDifferent};
pub(crate) use order::{TurnEnd, TurnOrder, TurnSink, Update};
pub(crate) use person::TurnApprover;
pub(crate) use progress::{Progress, mark_interrupted};
pub(crate) use run::{ReservedTurn, Turns};
pub(crate) use running::SOURCE;
pub(crate) use telling::{Collect, Format};
