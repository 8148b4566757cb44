//! What is told of a turn while it runs. Who listens decides what people see; the turn does not wait
//! for anybody and does not change by what they do.

use std::time::Duration;

use hermes_providers::StreamEvent;
use serde_json::Value;

/// Something that happened.
#[derive(Debug)]
pub enum Event<'a> {
    /// A piece of an answer.
    Stream(StreamEvent),
    /// A tool is called.
    Calling {
        /// Its name.
        tool: &'a str,
        /// What it is called with.
        arguments: &'a Value,
    },
    /// A tool has answered.
    Called {
        /// Its name.
        tool: &'a str,
        /// Its answer.
        result: &'a str,
        /// How long it took.
        took: Duration,
    },
    /// A sentence for whoever watches: what was repaired, dropped or shortened.
    Notice(String),
}

/// Hears of what happens.
pub trait Observer {
    /// Something happened.
    fn on(&mut self, event: Event<'_>);
}

/// Hears nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct Silent;

impl Observer for Silent {
    fn on(&mut self, _: Event<'_>) {}
}

impl<F: FnMut(Event<'_>)> Observer for F {
    fn on(&mut self, event: Event<'_>) {
        self(event);
    }
}
