//! A command line, read as a shell would: the text in both its forms, and what it runs.

use std::borrow::Cow;

use crate::expand::Reader;
use crate::known_shell::{KnownShell, UnknownShell};
use crate::model::Script;
use crate::normalise::{normalise, without_nul};

/// Characters a command may have. Longer text belongs in a file.
pub const MAX_COMMAND_CHARS: usize = 128_000;

/// A command line taken apart.
#[derive(Debug)]
pub struct Analysis<'t> {
    /// The text as given, without NUL.
    pub raw: Cow<'t, str>,
    /// The text as the rules see it.
    pub normalised: Cow<'t, str>,
    /// What it runs. Empty when the text is too long.
    pub script: Script,
    /// The text has more than [`MAX_COMMAND_CHARS`] characters and was not looked into.
    pub too_long: bool,
}

impl<'t> Analysis<'t> {
    /// Takes a command line apart of whose shell nothing is known.
    pub fn of(command: &'t str) -> Self {
        Self::within(command, &UnknownShell)
    }

    /// Takes a command line apart as this shell would run it. Never fails: what is not understood is
    /// marked as such.
    pub fn within(command: &'t str, shell: &dyn KnownShell) -> Self {
        let too_long =
            command.len() > MAX_COMMAND_CHARS && command.chars().nth(MAX_COMMAND_CHARS).is_some();
        let (mut raw, mut normalised) = (Cow::Borrowed(command), Cow::Borrowed(command));
        let mut reader = Reader::new(shell, command.len());
        if let Some(earlier) = shell.earlier() {
            reader.remember(earlier);
        }
        if !too_long {
            raw = without_nul(command);
            normalised = normalise(command);
            reader.read_text(&raw, false);
            if normalised != raw {
                reader.read_text(&normalised, true);
            }
        }
        Self {
            script: reader.finish(),
            raw,
            normalised,
            too_long,
        }
    }
}

#[cfg(test)]
#[path = "analysis_tests.rs"]
mod tests;
