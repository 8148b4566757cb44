//! Words that must not be in the sources: `unsafe` outside `hermes-proc`, and code that is not
//! written yet anywhere but in tests.
//!
//! The compiler's lints say the same, but an `#[expect]` with a reason would silence them; this
//! cannot be silenced from the file itself.

use std::fmt;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::workspace;

/// The one crate that may be unsafe.
const UNSAFE_CRATE: &str = "crates/hermes-proc/";

/// A source file, its path relative to the workspace.
#[derive(Debug)]
pub(crate) struct SourceFile {
    pub(crate) path: String,
    pub(crate) text: String,
}

/// A forbidden word and its position.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    path: String,
    line: usize,
    word: &'static str,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path, self.line, self.word)
    }
}

/// Every Rust file of ours below `crates` and `xtask`.
pub(crate) fn rust_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut waiting = vec![root.join("crates"), root.join("xtask")];
    let mut files = Vec::new();
    while let Some(directory) = waiting.pop() {
        for path in entries(&directory)? {
            if path.is_dir() {
                waiting.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                files.push(SourceFile {
                    text: workspace::read(&path)?,
                    path: path
                        .strip_prefix(root)
                        .unwrap_or(&path)
                        .to_string_lossy()
                        .into_owned(),
                });
            }
        }
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

#[expect(
    clippy::disallowed_methods,
    reason = "a chore that reads the sources is no part of the product"
)]
fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let listing = std::fs::read_dir(directory)
        .with_context(|| format!("could not list {}", directory.display()))?;
    listing
        .map(|entry| Ok(entry?.path()))
        .collect::<Result<_>>()
        .with_context(|| format!("could not list {}", directory.display()))
}

/// The forbidden words of a file.
pub(crate) fn findings(file: &SourceFile) -> Vec<Finding> {
    let unsafe_here = file.path.starts_with(UNSAFE_CRATE);
    let for_tests = file.path.starts_with("crates/hermes-testkit/")
        || file.path.contains("/tests/")
        || file.path.ends_with("_tests.rs");
    let mut found = Vec::new();
    for (number, line) in code_lines(&file.text) {
        let mut report = |word| {
            found.push(Finding {
                path: file.path.clone(),
                line: number,
                word,
            });
        };
        if !unsafe_here && has_word(&line, "unsafe") {
            report("unsafe");
        }
        if !for_tests {
            for word in ["todo!", "unimplemented!"] {
                if has_word(&line, word) {
                    report(word);
                }
            }
        }
    }
    found
}

/// What a character of a source belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Code,
    /// Between quotes.
    Text,
    /// Between the quotes of a raw string with so many `#`.
    RawText(usize),
    /// In so many nested block comments.
    Comment(usize),
}

/// The lines of a source without comments and string contents.
pub(crate) fn code_lines(text: &str) -> Vec<(usize, String)> {
    let mut state = State::Code;
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            let mut code = String::new();
            let mut rest = line;
            while !rest.is_empty() {
                if state == State::Code && rest.starts_with("//") {
                    break;
                }
                let (taken, next) = step(state, rest, &code);
                if state == State::Code && next == State::Code {
                    code.push_str(rest.get(..taken).unwrap_or_default());
                }
                state = next;
                rest = rest.get(taken..).unwrap_or_default();
            }
            (index + 1, code)
        })
        .collect()
}

/// How many bytes belong together at the beginning of `rest`, and what the next ones belong to.
/// `code` is the code before it on the line.
fn step(state: State, rest: &str, code: &str) -> (usize, State) {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    match state {
        State::Text if rest.starts_with('\\') => {
            let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
            (first + escaped, State::Text)
        }
        State::Text if rest.starts_with('"') => (first, State::Code),
        State::RawText(hashes) if rest.starts_with(&format!("\"{}", "#".repeat(hashes))) => {
            (first + hashes, State::Code)
        }
        State::Comment(depth) if rest.starts_with("/*") => (2, State::Comment(depth + 1)),
        State::Comment(1) if rest.starts_with("*/") => (2, State::Code),
        State::Comment(depth) if rest.starts_with("*/") => (2, State::Comment(depth - 1)),
        State::Text | State::RawText(_) | State::Comment(_) => (first, state),
        State::Code if rest.starts_with("/*") => (2, State::Comment(1)),
        State::Code if rest.starts_with("'\"'") => (3, State::Code),
        State::Code if rest.starts_with('"') => {
            let hashes = code.chars().rev().take_while(|c| *c == '#').count();
            let raw = code.trim_end_matches('#').ends_with('r');
            let next = if raw {
                State::RawText(hashes)
            } else {
                State::Text
            };
            (first, next)
        }
        State::Code => (first, State::Code),
    }
}

/// Whether the line has the word by itself, not as part of a longer name.
pub(crate) fn has_word(line: &str, word: &str) -> bool {
    let is_name = |character: char| character.is_alphanumeric() || character == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line.get(..at).and_then(|head| head.chars().next_back());
        let after = line
            .get(at + word.len()..)
            .and_then(|tail| tail.chars().next());
        !before.is_some_and(is_name) && (word.ends_with('!') || !after.is_some_and(is_name))
    })
}

#[cfg(test)]
#[path = "sources_tests.rs"]
mod tests;
