//! Finding what a person should be asked about.
//!
//! Each rule looks at one parsed command, few at the whole script. A rule names a key; the
//! approval policy decides what follows from it.

mod build;
mod code;
mod download;
mod environment;
mod files;
mod git;
mod hidden;
mod machine;
mod network;
mod outputs;
mod processes;
mod resources;
mod services;
mod sql;
mod windows;

pub(crate) use services::hermes_call;

use super::keys::{self, Group, Key, TOOL_OPTION};
use super::known_homes::KnownHomes;
use hermes_shell::{Analysis, Command, Script, programs};

/// Directories that the rules know.
#[derive(Debug, Clone, Default)]
pub struct KnownPaths {
    pub homes: KnownHomes,
    /// Directories for temporary files, where Hermes leaves scripts that may go without a question.
    pub temp_dirs: Vec<String>,
}

/// The keys of everything found, each once, in the order of the commands.
pub(crate) fn detect(analysis: &Analysis<'_>, paths: &KnownPaths) -> Vec<String> {
    let script = &analysis.script;
    let mut found: Vec<String> = Vec::new();
    let mut add = |key: String| {
        if !found.contains(&key) {
            found.push(key);
        }
    };
    for (index, command) in script.certain() {
        let mut keys = Vec::new();
        let call = Call {
            script,
            command,
            index,
            paths,
            texts: command.texts().collect(),
        };
        files::rules(&call, &mut keys);
        outputs::rules(&call, &mut keys);
        machine::rules(&call, &mut keys);
        sql::rules(&call, &mut keys);
        processes::rules(&call, &mut keys);
        code::rules(&call, &mut keys);
        network::rules(&call, &mut keys);
        environment::rules(&call, &mut keys);
        build::rules(&call, &mut keys);
        hidden::rules(&call, &mut keys);
        git::rules(&call, &mut keys);
        services::rules(&call, &mut keys);
        resources::rules(&call, &mut keys);
        windows::rules(&call, &mut keys);
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
    if download::runs_what_it_fetched(script) {
        add(keys::DOWNLOAD_RUN.text.to_owned());
    }
    if script.unread {
        add(keys::TOO_COMPLEX.text.to_owned());
    }
    found
}

/// A command with what is around it.
struct Call<'p> {
    script: &'p Script,
    command: &'p Command,
    index: usize,
    paths: &'p KnownPaths,
    /// Values of the words behind the command word.
    texts: Vec<&'p str>,
}

impl Call<'_> {
    fn name(&self) -> &str {
        self.command.name()
    }

    fn texts(&self) -> &[&str] {
        &self.texts
    }
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
mod cases;
#[cfg(test)]
#[path = "detect_tests.rs"]
mod tests;
