//! Words that must not stand in the sources: `unsafe` outside `hermes-proc`, and code that is not
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

/// A word where it must not be.
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

/// What must not stand in this file.
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

/// Where in a source a character stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    Code,
    /// Between quotes.
    Text,
    /// Between the quotes of a raw string with so many `#`.
    RawText(usize),
    /// In so many nested block comments.
    Comment(usize),
}

/// The lines of a source without comments and without what stands in quotes.
pub(crate) fn code_lines(text: &str) -> Vec<(usize, String)> {
    let mut place = Place::Code;
    text.lines()
        .enumerate()
        .map(|(index, line)| {
            let mut code = String::new();
            let mut rest = line;
            while !rest.is_empty() {
                if place == Place::Code && rest.starts_with("//") {
                    break;
                }
                let (taken, next) = step(place, rest, &code);
                if place == Place::Code && next == Place::Code {
                    code.push_str(rest.get(..taken).unwrap_or_default());
                }
                place = next;
                rest = rest.get(taken..).unwrap_or_default();
            }
            (index + 1, code)
        })
        .collect()
}

/// How many bytes belong together at the beginning of `rest`, and where the next ones stand.
/// `code` is the code before it on the line.
fn step(place: Place, rest: &str, code: &str) -> (usize, Place) {
    let first = rest.chars().next().map_or(0, char::len_utf8);
    match place {
        Place::Text if rest.starts_with('\\') => {
            let escaped = rest.chars().nth(1).map_or(0, char::len_utf8);
            (first + escaped, Place::Text)
        }
        Place::Text if rest.starts_with('"') => (first, Place::Code),
        Place::RawText(hashes) if rest.starts_with(&format!("\"{}", "#".repeat(hashes))) => {
            (first + hashes, Place::Code)
        }
        Place::Comment(depth) if rest.starts_with("/*") => (2, Place::Comment(depth + 1)),
        Place::Comment(1) if rest.starts_with("*/") => (2, Place::Code),
        Place::Comment(depth) if rest.starts_with("*/") => (2, Place::Comment(depth - 1)),
        Place::Text | Place::RawText(_) | Place::Comment(_) => (first, place),
        Place::Code if rest.starts_with("/*") => (2, Place::Comment(1)),
        Place::Code if rest.starts_with("'\"'") => (3, Place::Code),
        Place::Code if rest.starts_with('"') => {
            let hashes = code.chars().rev().take_while(|c| *c == '#').count();
            let raw = code.trim_end_matches('#').ends_with('r');
            let next = if raw {
                Place::RawText(hashes)
            } else {
                Place::Text
            };
            (first, next)
        }
        Place::Code => (first, Place::Code),
    }
}

/// Whether the word stands there by itself, not as part of a longer name.
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
