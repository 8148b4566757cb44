//! A search: its arguments, checked before any file is touched, and its results, bounded in memory.

use std::path::{Path, PathBuf};
use std::time::Duration;

use globset::{GlobBuilder, GlobMatcher};
use serde_json::Value;

use super::pattern::LinePattern;

/// A search that takes longer ends with what it has.
pub(super) const SEARCH_TIMEOUT: Duration = Duration::from_secs(30);
/// Matches after which counting stops.
pub(crate) const MAX_COUNTED: usize = 10_000;
/// Longer lines are cut, in characters.
const MAX_LINE_CHARS: usize = 500;

pub(crate) struct FileQuery {
    /// Where: absolute, links not followed.
    pub(crate) root: PathBuf,
    /// The root as the call wrote it.
    raw_root: String,
    pub(crate) what: SearchTarget,
    pub(crate) mode: OutputMode,
    pub(crate) page: ResultPage,
}

pub(crate) enum SearchTarget {
    Contents(Contents),
    /// Files whose name fits.
    Names(NameGlob),
}

/// Lines that match.
pub(crate) struct Contents {
    pub(crate) pattern: LinePattern,
    /// In files that fit, if only in those.
    pub(crate) files: Option<NameGlob>,
    /// Lines wanted before and after each match.
    pub(crate) around: usize,
    /// Matches whose lines are needed; beyond them it is enough to count.
    pub(crate) keep: usize,
}

/// What the result of a search for contents consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OutputMode {
    Lines,
    Files,
    Counts,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ResultPage {
    pub(crate) skip: usize,
    pub(crate) limit: usize,
}

impl FileQuery {
    /// The search a call asks for; the error is a sentence.
    pub(crate) fn of(
        args: &Value,
        resolve: impl FnOnce(&str) -> Result<PathBuf, String>,
    ) -> Result<Self, String> {
        let raw_root = args["path"].as_str().unwrap_or(".");
        let root = resolve(raw_root)?;
        let pattern = args["pattern"].as_str().unwrap_or_default();
        if pattern.is_empty() {
            return Err("The pattern is empty.".to_owned());
        }
        let page = ResultPage {
            skip: count(args, "offset", 0),
            limit: count(args, "limit", 50),
        };
        let what = match args["target"].as_str() {
            Some("files" | "find") => SearchTarget::Names(names(pattern)?),
            _ => SearchTarget::Contents(Contents {
                pattern: LinePattern::new(pattern)?,
                files: args["file_glob"].as_str().map(NameGlob::new).transpose()?,
                around: count(args, "context", 0),
                keep: page.skip.saturating_add(page.limit),
            }),
        };
        Ok(Self {
            root,
            raw_root: raw_root.to_owned(),
            what,
            mode: match args["output_mode"].as_str() {
                Some("files_only") => OutputMode::Files,
                Some("count") => OutputMode::Counts,
                _ => OutputMode::Lines,
            },
            page,
        })
    }

    /// The message when nothing is at the root.
    pub(crate) fn not_found(&self) -> String {
        format!("Path not found: {}", self.raw_root)
    }

    /// With what paths in the result begin: the root as the call wrote it.
    pub(crate) fn shown_root(&self) -> PathBuf {
        let raw = &self.raw_root;
        if Path::new(raw).is_absolute() || raw.starts_with('~') {
            return self.root.clone();
        }
        let shown = PathBuf::from(raw.trim_start_matches("./").trim_end_matches('/'));
        if shown == Path::new(".") {
            PathBuf::new()
        } else {
            shown
        }
    }
}

/// A word without wildcards means every name that contains it.
fn names(pattern: &str) -> Result<NameGlob, String> {
    if pattern.contains(['*', '?', '[', '{']) {
        return NameGlob::new(pattern);
    }
    NameGlob::new(&format!("*{pattern}*"))
}

fn count(args: &Value, name: &str, default: usize) -> usize {
    let given = args[name].as_u64();
    given.map_or(default, |n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// A glob: without a slash for the name of a file, with one for its path below the root.
pub(crate) struct NameGlob(GlobMatcher);

impl NameGlob {
    fn new(pattern: &str) -> Result<Self, String> {
        GlobBuilder::new(pattern)
            .literal_separator(pattern.contains('/'))
            .build()
            .map(|glob| Self(glob.compile_matcher()))
            .map_err(|error| format!("Invalid glob: {error}"))
    }

    pub(crate) fn text(&self) -> &str {
        self.0.glob().glob()
    }

    /// Whether it fits a file below (or at) this root.
    pub(crate) fn fits(&self, root: &Path, path: &Path) -> bool {
        if self.text().contains('/') {
            self.0.is_match(path.strip_prefix(root).unwrap_or(path))
        } else {
            path.file_name().is_some_and(|name| self.0.is_match(name))
        }
    }
}

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

    /// Of files that were not searched to their end.
    pub(crate) const LONG_LINES: &'static str = "Files with lines that are too long for this pattern \
        were searched only up to such a line; a simpler pattern is tried on longer ones.";

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
        format!("{}... [truncated]", hermes_text::cut(text, MAX_LINE_CHARS))
    } else {
        text.to_owned()
    }
}
