//! What a shell line would run: simple commands with their words, redirections and positions in
//! pipelines, those inside substitutions, functions and payloads included.

mod effects;
mod escapes;
mod expand;
mod heredoc;
mod last_program;
mod lexical;
mod model;
mod parameter;
mod parse;
pub(crate) mod programs;
mod scope;
pub(crate) mod sed;
mod substitution;
pub(crate) mod tool_text;
mod walk;
mod word;
mod wrapper;

pub use last_program::last_program;
pub(crate) use model::{
    Command, Inner, InnerForm, Reach, Script, Via, Word, basename, file_operands, is_long,
    is_one_of, operands,
};
pub(crate) use wrapper::{SUDO_VALUES, behind_options};

use std::borrow::Cow;

use super::known_shell::{KnownShell, UnknownShell};
use super::normalise::{normalise, without_nul};

/// Characters a command may have. Longer text belongs in a file.
pub(crate) const MAX_COMMAND_CHARS: usize = 128_000;

/// How deep payloads of payloads are followed.
const MAX_PAYLOAD_DEPTH: u8 = 8;

/// A command line taken apart.
#[derive(Debug)]
pub(crate) struct Analysis<'t> {
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
    pub(crate) fn of(command: &'t str) -> Self {
        Self::within(command, &UnknownShell)
    }

    /// Takes a command line apart as this shell would run it. Never fails: what is not understood is
    /// marked as such.
    pub(crate) fn within(command: &'t str, shell: &dyn KnownShell) -> Self {
        let too_long =
            command.len() > MAX_COMMAND_CHARS && command.chars().nth(MAX_COMMAND_CHARS).is_some();
        let (mut raw, mut normalised) = (Cow::Borrowed(command), Cow::Borrowed(command));
        let mut reader = expand::Reader::new(shell, command.len());
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
#[path = "syntax_tests.rs"]
mod tests;
