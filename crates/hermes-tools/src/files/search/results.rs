//! The results of a search, bounded in memory.

use std::path::PathBuf;

/// Matches after which counting stops.
pub(crate) const MAX_COUNTED: usize = 10_000;
/// Longer lines are cut, in characters.
pub(crate) const MAX_LINE_CHARS: usize = 500;

/// The results of a search. Paths are absolute and without links.
#[derive(Default)]
pub(crate) struct SearchResults {
    /// The root without links.
    pub(crate) root: PathBuf,
    /// Lines in the order of files and of numbers, matches and what is around them.
    pub(crate) matches: Vec<ResultLine>,
    /// Files with matches, and how many each has.
    pub(crate) counts: Vec<(PathBuf, usize)>,
    /// Files whose names fit, the newest first.
    pub(crate) names: Vec<PathBuf>,
    /// How much was found, shown or not.
    pub(crate) total: usize,
    /// Why the search ended early, if so.
    pub(crate) stopped: Option<&'static str>,
    /// What else the model should know of this search.
    pub(crate) remark: Option<&'static str>,
}

impl SearchResults {
    /// Why a search ends before its end.
    pub(crate) const INTERRUPTED: &'static str = "The search was interrupted.";
    /// The same, because of the time limit.
    pub(crate) const TOO_LONG: &'static str =
        "The search took too long; narrow it with path or file_glob.";
    /// The same, because enough was found.
    pub(crate) const TOO_MANY: &'static str = "There are more results than were counted.";

    /// Takes a line if it can be shown; a match counts in any case. Of the matches `keep` are wanted.
    pub(crate) fn push(&mut self, line: ResultLine, keep: usize) {
        if line.is_match {
            self.total += 1;
        }
        // One more than wanted, so that the page ends before the context of the next match.
        if self.total <= keep.saturating_add(1) {
            self.matches.push(line);
        }
    }
}

/// A line of a result.
pub(crate) struct ResultLine {
    pub(crate) path: PathBuf,
    pub(crate) number: u64,
    pub(crate) text: String,
    /// As opposed to a line around a match.
    pub(crate) is_match: bool,
}

/// The text of a line as it is shown.
pub(crate) fn shown_text(bytes: &[u8]) -> String {
    let head = bytes.get(..MAX_LINE_CHARS * 4).unwrap_or(bytes);
    let text = String::from_utf8_lossy(head);
    let text = text.trim_end_matches(['\n', '\r']);
    if text.chars().count() > MAX_LINE_CHARS || head.len() < bytes.len() {
        let start: String = text.chars().take(MAX_LINE_CHARS).collect();
        format!("{start}... [truncated]")
    } else {
        text.to_owned()
    }
}
