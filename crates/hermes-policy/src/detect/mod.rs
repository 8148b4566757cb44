//! Finding what a person should be asked about.
//!
//! Each rule looks at one parsed command, few at the whole script. A rule names a key; what is done
//! about it is decided elsewhere.

mod code;
mod files;
mod git;
mod processes;
mod services;
mod sql;
mod windows;

pub(crate) use services::hermes_call;

use super::keys::{self, Group, Key, TOOL_OPTION};
use super::normalise::Folding;
use super::programs;
use super::syntax::{Analysis, Command, Script};

/// Something a person should be asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Finding {
    /// Key, as it is stored when it is approved.
    pub key: String,
}

/// What the rules know about the place.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// Home directories and Hermes' own.
    pub folding: Folding,
    /// Directories for temporary files, where Hermes leaves scripts that may go without a question.
    pub temp_dirs: Vec<String>,
}

/// All findings, each key once, in the order of the commands.
pub(super) fn detect(analysis: &Analysis<'_>, surroundings: &Surroundings) -> Vec<Finding> {
    let script = &analysis.script;
    let mut found: Vec<Finding> = Vec::new();
    let mut add = |key: String| {
        if !found.iter().any(|finding| finding.key == key) {
            found.push(Finding { key });
        }
    };
    for (index, command) in script.certain() {
        let mut keys = Vec::new();
        let place = Place {
            script,
            command,
            index,
            surroundings,
        };
        files::rules(&place, &mut keys);
        sql::rules(&place, &mut keys);
        processes::rules(&place, &mut keys);
        code::rules(&place, &mut keys);
        git::rules(&place, &mut keys);
        services::rules(&place, &mut keys);
        windows::rules(&place, &mut keys);
        let mut groups: Vec<Group> = Vec::new();
        for key in keys {
            if !groups.contains(&key.group) {
                groups.push(key.group);
                add(key.text.to_owned());
            }
        }
        if let Some((option, _)) = programs::program_option(command) {
            add(format!("{TOOL_OPTION}{option}"));
        }
    }
    if code::runs_what_it_made_executable(script) {
        add(keys::CHMOD_RUN.text.to_owned());
    }
    if script.unread {
        add(keys::TOO_COMPLEX.text.to_owned());
    }
    found
}

/// A command with what is around it.
struct Place<'p> {
    script: &'p Script,
    command: &'p Command,
    index: usize,
    surroundings: &'p Surroundings,
}

impl Place<'_> {
    fn name(&self) -> &str {
        self.command.name()
    }

    fn texts(&self) -> Vec<&str> {
        self.command.texts().collect()
    }

    fn folding(&self) -> &Folding {
        &self.surroundings.folding
    }
}

/// Whether a word is a long option, perhaps shortened to no less than `fewest` characters.
fn is_long(text: &str, option: &str, fewest: usize) -> bool {
    let written = text.split('=').next().unwrap_or_default();
    written.len() >= fewest && option.starts_with(written)
}

/// Letters of a word that is a cluster of short options.
fn short_letters(text: &str) -> Option<&str> {
    text.strip_prefix('-')
        .filter(|rest| !rest.is_empty() && !rest.starts_with('-'))
}

/// Whether any of these words is a short option with this letter. Ends at `--`.
fn has_letter(texts: &[&str], letter: char) -> bool {
    texts
        .iter()
        .take_while(|text| **text != "--")
        .filter_map(|text| short_letters(text))
        .any(|letters| letters.contains(letter))
}

type Keys = Vec<Key>;

#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
