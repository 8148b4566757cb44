//! Files that a command line fetches and then runs.

use std::collections::HashSet;

use super::code::{is_remote, plain};
use hermes_shell::programs::{ShellInput, interpreter, shell_text};
use hermes_shell::{Command, Script, Word, basename, file_operands, is_one_of};

/// `curl … -o x; sh x`, `wget URL/x && ./x`, `curl … > x; . x`, `npx URL`.
pub(super) fn runs_what_it_fetched(script: &Script) -> bool {
    let mut fetched: HashSet<String> = HashSet::new();
    for (_, command) in script.certain() {
        if runs_address(command) {
            return true;
        }
        if !fetched.is_empty() && runs(script, command).any(|file| fetched.contains(plain(file))) {
            return true;
        }
        let gets = is_remote(command.name());
        let copies = matches!(command.name(), "tee" | "cat" | "sponge" | "")
            && script
                .upstream(command)
                .iter()
                .any(|source| is_remote(source.name()));
        if !gets && !copies {
            continue;
        }
        let targets = command.redirects.iter().filter(|redirect| redirect.writes);
        fetched.extend(targets.map(|redirect| plain(&redirect.target.text).to_owned()));
        if copies {
            fetched.extend(file_operands(command.args()).map(|word| plain(&word.text).to_owned()));
        } else {
            fetched.extend(named_files(command));
        }
    }
    false
}

/// Whether a runner of packages is told to run what is at an address, and no package by its name.
fn runs_address(command: &Command) -> bool {
    let args = match command.name() {
        "npx" | "bunx" | "pnpx" | "uvx" => command.args(),
        "pnpm" | "yarn" | "npm" | "pipx" => match command.args() {
            [verb, rest @ ..] if is_one_of(&verb.text, "dlx exec x run") => rest,
            _ => return false,
        },
        _ => return false,
    };
    let is_address = |word: &Word| {
        let text = word.text.as_str();
        let schemes = [
            "git+", "http://", "https://", "git://", "ssh://", "github:", "gist:",
        ];
        schemes.iter().any(|scheme| text.starts_with(scheme))
    };
    let source = args.windows(2).find_map(|pair| match pair {
        [option, source] => is_one_of(&option.text, "-p --package --from --spec").then_some(source),
        _ => None,
    });
    let program = args.iter().find(|word| !word.text.starts_with('-'));
    source.is_some_and(is_address) || program.is_some_and(is_address)
}

/// Files a download is written to.
fn named_files(command: &Command) -> Vec<String> {
    let mut found = Vec::new();
    let args: Vec<&str> = command.texts().collect();
    for (at, text) in args.iter().enumerate() {
        if text.contains("://") {
            let name = basename(text.split(['?', '#']).next().unwrap_or_default());
            found.push(name.to_owned());
            continue;
        }
        let next = args.get(at + 1);
        let joined = text.split_once('=').map(|(_, value)| value);
        let letters = text
            .strip_prefix('-')
            .filter(|rest| !rest.starts_with('-'))
            .unwrap_or_default();
        if text.starts_with("--output") || text.starts_with("--out") {
            found.extend(joined.or(next.copied()).map(|file| plain(file).to_owned()));
        } else if letters.ends_with(['o', 'O']) {
            found.extend(next.map(|file| plain(file).to_owned()));
        }
    }
    found
}

/// Files a command runs.
fn runs<'s>(script: &'s Script, command: &'s Command) -> impl Iterator<Item = &'s str> {
    let mut found: Vec<&str> = Vec::new();
    let word = command.words.first().map_or("", |word| word.text.as_str());
    if word.contains('/') {
        found.push(word);
    }
    let reads_input = match shell_text(command) {
        Some(ShellInput::Stdin) => true,
        Some(ShellInput::File(_)) => {
            found.extend(
                file_operands(command.args())
                    .map(|word| word.text.as_str())
                    .next(),
            );
            false
        }
        _ => interpreter(command.name()).is_some(),
    };
    if interpreter(command.name()).is_some() {
        found.extend(
            file_operands(command.args())
                .map(|word| word.text.as_str())
                .next(),
        );
    }
    if reads_input {
        let inputs = command.redirects.iter().filter(|redirect| !redirect.writes);
        found.extend(inputs.map(|redirect| redirect.target.text.as_str()));
        for source in script.upstream(command) {
            found.extend(file_operands(source.args()).map(|word| word.text.as_str()));
        }
    }
    found.into_iter()
}
