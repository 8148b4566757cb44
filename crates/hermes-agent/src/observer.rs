//! Events of a running turn. Observers decide what people see and cannot change the turn.

use std::time::Duration;

use hermes_providers::StreamEvent;
use serde_json::Value;

/// An event of a turn.
#[derive(Debug)]
pub enum TurnEvent<'a> {
    /// The message of the user is stored, as [`crate::Acknowledged`] says. Comes before everything else.
    Stored,
    Stream(StreamEvent),
    Calling {
        /// The id of the call, as the model gave it.
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
    /// A notice for the user about something repaired, dropped or shortened.
    Notice(String),
}

/// Receives the events of a turn.
pub trait TurnObserver {
    /// Handles an event.
    fn on(&mut self, event: TurnEvent<'_>);
}

impl<F: FnMut(TurnEvent<'_>)> TurnObserver for F {
    fn on(&mut self, event: TurnEvent<'_>) {
        self(event);
    }
}

/// Sees tool results, and can prevent a turn from ending with an answer.
pub trait StopCheck: Send {
    /// Sees a tool result.
    fn note(&mut self, tool: &str, result: &Value);

    /// A reminder for the model instead of ending, if any.
    fn reminder(&mut self) -> Option<String>;
}
