//! Problems that last are logged once, not every time they are met.

use std::collections::HashMap;
use std::fmt::Display;

/// The last message about each thing that has a problem.
#[derive(Debug, Default)]
pub(crate) struct Reports(HashMap<String, String>);

impl Reports {
    /// Logs what is wrong with a thing, unless that was the last message about it.
    pub(crate) fn complain(&mut self, thing: &str, problem: &dyn Display) {
        self.warn(thing, format!("{thing}: {problem}"));
    }

    /// Logs a message about a thing, unless it was the last one.
    pub(crate) fn warn(&mut self, thing: &str, message: String) {
        if self.0.get(thing) != Some(&message) {
            tracing::warn!("{message}");
            self.0.insert(thing.to_owned(), message);
        }
    }

    /// The thing has no problem any more.
    pub(crate) fn settled(&mut self, thing: &str) {
        self.0.remove(thing);
    }
}
