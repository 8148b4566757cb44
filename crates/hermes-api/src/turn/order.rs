//! What a turn is asked for, and who hears of it.

use std::sync::Arc;
use std::time::Duration;

use hermes_agent::{TurnInput, TurnResult};
use serde_json::Value;

use super::history::{HistoryMessage, WhenDifferent};
use super::person::TurnApprover;
use crate::http::ApiError;
use crate::ledger::TurnEntry;
use crate::settings::ModelRoute;

/// A turn that a client wants.
pub(crate) struct TurnOrder {
    pub(crate) entry: TurnEntry,
    /// The session, which need not exist yet.
    pub(crate) session: String,
    /// The session to take while that one is busy, instead of waiting.
    pub(crate) when_busy: Option<String>,
    /// What came before, as the client tells it; `None` if the session is the truth.
    pub(crate) history: Option<(Vec<HistoryMessage>, WhenDifferent)>,
    pub(crate) input: TurnInput,
    /// Text added to the system prompt.
    pub(crate) more_prompt: Option<String>,
    pub(crate) route: Option<ModelRoute>,
    /// Who approves risky commands; nobody if none.
    pub(crate) approver: Option<Arc<dyn TurnApprover>>,
}

/// Something that happened in a turn.
#[derive(Debug)]
pub(crate) enum Update<'a> {
    /// The turn begins, in this session: what the client said is stored.
    Began {
        session: &'a str,
    },
    Text(&'a str),
    Reasoning(&'a str),
    Calling {
        id: &'a str,
        tool: &'a str,
        arguments: &'a Value,
    },
    Called {
        id: &'a str,
        tool: &'a str,
        result: &'a str,
        took: Duration,
    },
}

/// How a turn ended; an error if it could not be taken.
pub(crate) type TurnEnd = Result<Box<TurnResult>, ApiError>;

/// Hears of a turn, on the thread of the turn.
pub(crate) trait TurnSink: Send {
    /// Something happened; `false` if nobody listens any more and the turn should end.
    fn update(&mut self, update: Update<'_>) -> bool;

    /// The turn is over.
    fn finish(self: Box<Self>, end: TurnEnd);
}
