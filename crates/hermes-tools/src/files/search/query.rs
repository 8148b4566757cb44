//! The arguments of a search, parsed and checked before any file is touched.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use serde_json::Value;

use crate::context::CallContext;

/// A search.
pub(crate) struct FileQuery {
    /// Where: absolute, links not followed.
    pub(crate) root: PathBuf,
    /// The root as the call wrote it.
    raw_root: String,
    pub(crate) what: SearchTarget,
    pub(super) mode: OutputMode,
    pub(super) page: ResultPage,
}

/// What is searched.
pub(crate) enum SearchTarget {
    Contents(Contents),
    /// Files whose name fits.
    Names(NameGlob),
}

/// Lines that match.
pub(crate) struct Contents {
    /// The regular expression as the call wrote it; it is a valid one.
    pub(crate) pattern: String,
    pub(crate) matcher: RegexMatcher,
    /// In files that fit, if only in those.
    pub(crate) files: Option<NameGlob>,
    /// Lines wanted before and after each match.
    pub(crate) around: usize,
    /// Matches whose lines are needed; beyond them it is enough to count.
    pub(crate) keep: usize,
}

/// What the result of a search for contents consists of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum OutputMode {
    Lines,
    Files,
    Counts,
}

/// Which of the results are shown.
#[derive(Debug, Clone, Copy)]
pub(super) struct ResultPage {
    pub(super) skip: usize,
    pub(super) limit: usize,
}

impl FileQuery {
    /// The search a call asks for; the error is a sentence.
    pub(super) fn of(args: &Value, context: &CallContext) -> Result<Self, String> {
        let raw_root = args["path"].as_str().unwrap_or(".");
        let root = context.resolve(raw_root)?;
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
                pattern: pattern.to_owned(),
                matcher: RegexMatcherBuilder::new()
                    .line_terminator(Some(b'\n'))
                    .build(pattern)
                    .map_err(|error| format!("Invalid regular expression: {error}"))?,
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
    pub(super) fn shown_root(&self) -> PathBuf {
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
        NameGlob::new(pattern)
    } else {
        NameGlob::new(&format!("*{pattern}*"))
    }
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

    /// The glob as it was written.
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
