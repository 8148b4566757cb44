//! Events of a running turn. Observers decide what people see and cannot change the turn.

use std::time::Duration;

use hermes_providers::StreamEvent;
use serde_json::Value;

/// An event of a turn.
#[derive(Debug)]
pub enum TurnEvent<'a> {
    /// A stream event of an answer.
    Stream(StreamEvent),
    /// A tool is called.
    Calling {
        /// Its name.
        tool: &'a str,
        /// Its arguments.
        arguments: &'a Value,
    },
    /// A tool has returned.
    Called {
        /// Its name.
        tool: &'a str,
        /// Its result.
        result: &'a str,
        /// How long it took.
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
