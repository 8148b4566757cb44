//! `search_files`: contents by regular expression, names by glob, with the parts ripgrep is made
//! of. Bounded in results, in time and in memory; skips what `.gitignore` names, hidden and binary
//! files.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use globset::{GlobBuilder, GlobMatcher};
use grep_regex::{RegexMatcher, RegexMatcherBuilder};
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder, Sink, SinkContext, SinkMatch};
use ignore::WalkBuilder;
use serde_json::{Map, Value, json};

use super::credential_stores::CredentialStores;
use crate::argument::{Argument, Kind};
use crate::context::CallContext;
use crate::tool::{Tool, error};

/// Matches after which counting stops.
const MAX_COUNTED: usize = 10_000;
/// A search that takes longer ends with what it has.
const PATIENCE: Duration = Duration::from_secs(30);
/// Longer lines are cut, in characters.
const MAX_LINE_CHARS: usize = 500;
/// A line that needs more memory ends the search of its file.
const MAX_LINE_BYTES: usize = 4 * 1024 * 1024;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchFilesTool;

impl Tool for SearchFilesTool {
    fn name(&self) -> &'static str {
        "search_files"
    }

    fn toolset(&self) -> &'static str {
        "file"
    }

    fn description(&self) -> &'static str {
        "Searches files below a directory. With target 'content' the pattern is a regular \
         expression looked for in every line; with target 'files' it is a glob for file names, \
         newest first. Use this instead of grep, find and ls. Files named in .gitignore, hidden \
         files and binary files are skipped."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::required(
                "pattern",
                Kind::Text,
                "Regular expression (target 'content') or glob such as *.py (target 'files').",
            ),
            Argument::optional(
                "target",
                Kind::Choice(&["content", "files", "grep", "find"]),
                "'content' searches in files, 'files' searches names. Default 'content'.",
            ),
            Argument::optional(
                "path",
                Kind::Text,
                "Directory or file to search. Default: the working directory.",
            ),
            Argument::optional(
                "file_glob",
                Kind::Text,
                "Only files whose name matches this glob, with target 'content'.",
            ),
            Argument::optional(
                "limit",
                Kind::ClampedInt { min: 1, max: 1000 },
                "Most results to return. Default 50.",
            ),
            Argument::optional(
                "offset",
                Kind::ClampedInt {
                    min: 0,
                    max: i64::MAX,
                },
                "Results to skip, for the next page. Default 0.",
            ),
            Argument::optional(
                "output_mode",
                Kind::Choice(&["content", "files_only", "count"]),
                "'content' gives lines, 'files_only' paths, 'count' matches per file. Default \
                 'content'.",
            ),
            Argument::optional(
                "context",
                Kind::ClampedInt { min: 0, max: 20 },
                "Lines before and after each match. Default 0.",
            ),
        ];
        ARGUMENTS
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match Search::prepare(args, context).and_then(|search| search.run(args)) {
            Ok(result) => result,
            Err(message) => error(message),
        }
    }
}

struct Search<'a> {
    context: &'a CallContext,
    stores: CredentialStores,
    /// Without links.
    root: PathBuf,
    /// The root as the call wrote it, with which paths in the result begin.
    shown_root: PathBuf,
    deadline: Instant,
}

/// What a walk left.
#[derive(Default)]
struct Found {
    matches: Vec<Line>,
    /// Files with matches, and how many each has.
    counts: Vec<(PathBuf, usize)>,
    total: usize,
    /// Why the walk ended early, if so.
    stopped: Option<&'static str>,
}

struct Line {
    path: PathBuf,
    number: u64,
    text: String,
    is_match: bool,
}

impl<'a> Search<'a> {
    fn prepare(args: &Value, context: &'a CallContext) -> Result<Self, String> {
        let raw = args["path"].as_str().unwrap_or(".");
        let asked = context.resolve(raw)?;
        let root = hermes_fs::canonicalize(&asked).map_err(|error| {
            if error.is_not_found() {
                format!("Path not found: {raw}")
            } else {
                error.to_string()
            }
        })?;
        let stores = CredentialStores::of(context);
        if let Some(message) = stores.refusal_of_real(&root) {
            return Err(message);
        }
        let shown_root = if Path::new(raw).is_absolute() || raw.starts_with('~') {
            asked
        } else {
            PathBuf::from(raw.trim_start_matches("./").trim_end_matches('/'))
        };
        let shown_root = if shown_root == Path::new(".") {
            PathBuf::new()
        } else {
            shown_root
        };
        Ok(Self {
            context,
            stores,
            root,
            shown_root,
            deadline: Instant::now() + PATIENCE,
        })
    }

    fn run(&self, args: &Value) -> Result<Value, String> {
        let pattern = args["pattern"].as_str().unwrap_or_default();
        if pattern.is_empty() {
            return Err("The pattern is empty.".to_owned());
        }
        match args["target"].as_str() {
            Some("files" | "find") => self.names(pattern, args),
            _ => self.contents(pattern, args),
        }
    }

    fn contents(&self, pattern: &str, args: &Value) -> Result<Value, String> {
        let matcher = RegexMatcherBuilder::new()
            .line_terminator(Some(b'\n'))
            .build(pattern)
            .map_err(|error| format!("Invalid regular expression: {error}"))?;
        let wanted = args["file_glob"].as_str().map(glob).transpose()?;
        let around = count(args, "context", 0);
        let mode = args["output_mode"].as_str().unwrap_or("content");
        let keep = count(args, "offset", 0).saturating_add(count(args, "limit", 50));
        let mut searcher = SearcherBuilder::new()
            .line_number(true)
            .binary_detection(BinaryDetection::quit(0))
            .before_context(around)
            .after_context(around)
            .heap_limit(Some(MAX_LINE_BYTES))
            .build();
        let mut found = Found::default();
        self.walk(&mut found, |found, path| {
            if wanted.as_ref().is_some_and(|glob| !self.fits(glob, path)) {
                return;
            }
            self.search_file(&mut searcher, &matcher, path, keep, found);
        });
        Ok(self.report(&found, mode, args))
    }

    fn search_file(
        &self,
        searcher: &mut Searcher,
        matcher: &RegexMatcher,
        path: &Path,
        keep: usize,
        found: &mut Found,
    ) {
        let Ok((file, _)) = hermes_fs::open_regular(path) else {
            // Unreadable, or gone since it was listed: as grep -s, it has no matches to show.
            return;
        };
        let before = found.total;
        let mut sink = Collector {
            path: self.shown(path),
            found,
            keep,
        };
        if let Err(error) = searcher.search_file(matcher, &file, &mut sink) {
            tracing::debug!("search of {} ended early: {error}", path.display());
        }
        let matches = found.total - before;
        if matches > 0 {
            found.counts.push((self.shown(path), matches));
        }
    }

    fn names(&self, pattern: &str, args: &Value) -> Result<Value, String> {
        let has_wildcard = pattern.contains(['*', '?', '[', '{']);
        let glob = glob(&if has_wildcard {
            pattern.to_owned()
        } else {
            format!("*{pattern}*")
        })?;
        let mut found = Found::default();
        let mut files: Vec<(SystemTime, PathBuf)> = Vec::new();
        self.walk(&mut found, |found, path| {
            if self.fits(&glob, path) {
                let modified = hermes_fs::symlink_metadata(path)
                    .ok()
                    .and_then(|meta| meta.modified().ok());
                files.push((modified.unwrap_or(SystemTime::UNIX_EPOCH), self.shown(path)));
                found.total += 1;
            }
        });
        files.sort_by(|one, other| other.0.cmp(&one.0).then_with(|| one.1.cmp(&other.1)));
        let files: Vec<PathBuf> = files.into_iter().map(|(_, path)| path).collect();
        let (page, more) = page_of(&files, args);
        let mut result = json!({"total_count": found.total, "files": shown_paths(page)});
        note_end(&mut result, more, &found);
        Ok(result)
    }

    /// Calls `visit` for every file below the root, in the order of names.
    fn walk(&self, found: &mut Found, mut visit: impl FnMut(&mut Found, &Path)) {
        let walk = WalkBuilder::new(&self.root)
            .sort_by_file_name(std::ffi::OsStr::cmp)
            .follow_links(false)
            .build();
        for entry in walk {
            if self.context.interrupt.is_raised() {
                found.stopped = Some("The search was interrupted.");
                return;
            }
            if Instant::now() > self.deadline {
                found.stopped = Some("The search took too long; narrow it with path or file_glob.");
                return;
            }
            if found.total >= MAX_COUNTED {
                found.stopped = Some("There are more results than are counted.");
                return;
            }
            // A directory that cannot be read hides its files, from us as from grep.
            let Ok(entry) = entry else { continue };
            // Links are not followed, so the paths of the walk are without them too.
            let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
            if is_file && self.stores.refusal_of_real(entry.path()).is_none() {
                visit(found, entry.path());
            }
        }
    }

    /// Whether a glob fits a file: without a slash its name, with one the path below the root.
    fn fits(&self, glob: &GlobMatcher, path: &Path) -> bool {
        if glob.glob().glob().contains('/') {
            glob.is_match(path.strip_prefix(&self.root).unwrap_or(path))
        } else {
            path.file_name().is_some_and(|name| glob.is_match(name))
        }
    }

    fn shown(&self, path: &Path) -> PathBuf {
        match path.strip_prefix(&self.root) {
            Ok(below) if !below.as_os_str().is_empty() => self.shown_root.join(below),
            _ => self.shown_root.clone(),
        }
    }

    fn report(&self, found: &Found, mode: &str, args: &Value) -> Value {
        let mut result;
        let more;
        match mode {
            "files_only" => {
                let files: Vec<PathBuf> = found.counts.iter().map(|(p, _)| p.clone()).collect();
                let page;
                (page, more) = page_of(&files, args);
                result = json!({"total_count": files.len(), "files": shown_paths(page)});
            }
            "count" => {
                let page;
                (page, more) = page_of(&found.counts, args);
                let counts: Map<String, Value> = page
                    .iter()
                    .map(|(path, count)| (path.display().to_string(), json!(count)))
                    .collect();
                result = json!({"total_count": found.total, "counts": counts});
            }
            _ => {
                let page;
                (page, more) = self.lines_of(found, args);
                let matches: Vec<Value> = page
                    .iter()
                    .map(|line| {
                        json!({
                            "path": line.path.display().to_string(),
                            "line": line.number,
                            "content": line.text,
                        })
                    })
                    .collect();
                result = json!({"total_count": found.total, "matches": matches});
            }
        }
        note_end(&mut result, more, found);
        result
    }

    /// The page counts matches; lines around a match come along with it.
    #[expect(clippy::unused_self, reason = "reads as a step of the report")]
    fn lines_of<'f>(&self, found: &'f Found, args: &Value) -> (&'f [Line], bool) {
        let skip = count(args, "offset", 0);
        let limit = count(args, "limit", 50);
        let mut seen = 0;
        let mut start = found.matches.len();
        let mut end = found.matches.len();
        for (index, line) in found.matches.iter().enumerate() {
            if line.is_match {
                if seen == skip {
                    start = start.min(context_start(&found.matches, index));
                }
                if seen == skip + limit {
                    end = context_start(&found.matches, index).max(start);
                    break;
                }
                seen += 1;
            }
        }
        let page = found.matches.get(start..end).unwrap_or_default();
        (page, found.total > skip.saturating_add(limit))
    }
}

/// Where the lines before a match begin: those right above it in the same file.
fn context_start(lines: &[Line], index: usize) -> usize {
    let mut start = index;
    while start > 0 {
        let (Some(above), Some(here)) = (lines.get(start - 1), lines.get(start)) else {
            break;
        };
        if above.is_match || above.path != here.path || above.number + 1 != here.number {
            break;
        }
        start -= 1;
    }
    start
}

/// Takes what the searcher finds, as far as it is wanted; counts the rest.
struct Collector<'a> {
    path: PathBuf,
    found: &'a mut Found,
    keep: usize,
}

impl Collector<'_> {
    fn push(&mut self, number: Option<u64>, bytes: &[u8], is_match: bool) {
        // One more than wanted, so that the page ends before the context of the next match.
        if self.found.total <= self.keep + 1 {
            self.found.matches.push(Line {
                path: self.path.clone(),
                number: number.unwrap_or(0),
                text: shown_text(bytes),
                is_match,
            });
        }
    }
}

impl Sink for Collector<'_> {
    type Error = std::io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> std::io::Result<bool> {
        self.found.total += 1;
        self.push(found.line_number(), found.bytes(), true);
        Ok(self.found.total < MAX_COUNTED)
    }

    fn context(&mut self, _: &Searcher, found: &SinkContext<'_>) -> std::io::Result<bool> {
        self.push(found.line_number(), found.bytes(), false);
        Ok(true)
    }
}

fn shown_text(bytes: &[u8]) -> String {
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

fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    GlobBuilder::new(pattern)
        .literal_separator(pattern.contains('/'))
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| format!("Invalid glob: {error}"))
}

fn count(args: &Value, name: &str, default: usize) -> usize {
    let given = args[name].as_u64();
    given.map_or(default, |n| usize::try_from(n).unwrap_or(usize::MAX))
}

/// The page the call asks for, and whether there is more.
fn page_of<'a, T>(all: &'a [T], args: &Value) -> (&'a [T], bool) {
    let start = count(args, "offset", 0).min(all.len());
    let end = start
        .saturating_add(count(args, "limit", 50))
        .min(all.len());
    (all.get(start..end).unwrap_or_default(), end < all.len())
}

fn shown_paths(paths: &[PathBuf]) -> Vec<String> {
    paths
        .iter()
        .map(|path| path.display().to_string())
        .collect()
}

fn note_end(result: &mut Value, more: bool, found: &Found) {
    if more || found.stopped.is_some() {
        result["truncated"] = json!(true);
    }
    if let Some(reason) = found.stopped {
        result["note"] = json!(reason);
    }
}
