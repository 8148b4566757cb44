//! `search_files`: the tool around a search, wherever the files are, and its result: the page that was
//! asked for, and whether there is more.

use std::path::{Path, PathBuf};

use hermes_secret::Sink;
use serde_json::{Map, Value, json};

use super::read::is_variables;
use crate::argument::{ArgKind, Argument};
use crate::filesystem::{
    FileQuery, OutputMode, ResultLine, ResultPage, SearchResults, SearchTarget,
};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const SPEC: ToolSpec = ToolSpec {
    name: "search_files",
    toolset: "file",
    description: "Searches files below a directory. With target 'content' the pattern is a regular \
     expression looked for in every line; with target 'files' it is a glob for file names, \
     newest first. Use this instead of grep, find and ls. Files named in .gitignore, hidden \
     files and binary files are skipped.",
    arguments: &[
        Argument::required(
            "pattern",
            ArgKind::Text,
            "Regular expression (target 'content') or glob such as *.py (target 'files').",
        ),
        Argument::optional(
            "target",
            ArgKind::Choice(&["content", "files", "grep", "find"]),
            "'content' searches in files, 'files' searches names. Default 'content'.",
        ),
        Argument::text(
            "path",
            "Directory or file to search. Default: the working directory.",
        ),
        Argument::text(
            "file_glob",
            "Only files whose name matches this glob, with target 'content'.",
        ),
        Argument::optional(
            "limit",
            ArgKind::ClampedInt { min: 1, max: 1000 },
            "Most results to return. Default 50.",
        ),
        Argument::optional(
            "offset",
            ArgKind::clamped_from(0),
            "Results to skip, for the next page. Default 0.",
        ),
        Argument::optional(
            "output_mode",
            ArgKind::Choice(&["content", "files_only", "count"]),
            "'content' gives lines, 'files_only' paths, 'count' matches per file. Default \
             'content'.",
        ),
        Argument::optional(
            "context",
            ArgKind::ClampedInt { min: 0, max: 20 },
            "Lines before and after each match. Default 0.",
        ),
    ],
    reach: ToolReach::ReadOnly,
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct SearchFilesTool;

impl Tool for SearchFilesTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        search(args, context).unwrap_or_else(error)
    }
}

fn search(args: &Value, context: &CallContext) -> Result<Value, String> {
    let query = FileQuery::of(args, |root| context.resolve(root))?;
    let files = context.filesystem.operations();
    let mut found = files.search(&query, context.file_call())?;
    mask_variables(&mut found, context);
    Ok(report(&query, &found))
}

/// Masks lines of files of variables, whose names say what the values are.
fn mask_variables(found: &mut SearchResults, context: &CallContext) {
    let mut redactor = None;
    let lines = found.matches.iter_mut();
    for line in lines.filter(|line| is_variables(&line.path)) {
        let redactor = redactor.get_or_insert_with(|| context.redactor.for_sink(Sink::Variables));
        line.text = redactor.redact(&line.text).into_owned();
    }
}

fn report(query: &FileQuery, found: &SearchResults) -> Value {
    let root = query.shown_root();
    let shown = |path: &Path| shown_path(&root, &found.root, path);
    let (mut result, more) = match (&query.what, query.mode) {
        (SearchTarget::Names(_), _) => {
            let (page, more) = page_of(&found.names, query.page);
            let files: Vec<String> = page.iter().map(|path| shown(path)).collect();
            (json!({"total_count": found.total, "files": files}), more)
        }
        (SearchTarget::Contents(_), OutputMode::Files) => {
            let (page, more) = page_of(&found.counts, query.page);
            let files: Vec<String> = page.iter().map(|(path, _)| shown(path)).collect();
            let total = found.counts.len();
            (json!({"total_count": total, "files": files}), more)
        }
        (SearchTarget::Contents(_), OutputMode::Counts) => {
            let (page, more) = page_of(&found.counts, query.page);
            let counts: Map<String, Value> = page
                .iter()
                .map(|(path, count)| (shown(path), json!(count)))
                .collect();
            (json!({"total_count": found.total, "counts": counts}), more)
        }
        (SearchTarget::Contents(_), OutputMode::Lines) => {
            let (page, more) = lines_of(found, query.page);
            let matches: Vec<Value> = page
                .iter()
                .map(|line| {
                    json!({
                        "path": shown(&line.path),
                        "line": line.number,
                        "content": line.text,
                    })
                })
                .collect();
            (
                json!({"total_count": found.total, "matches": matches}),
                more,
            )
        }
    };
    if more || found.stopped.is_some() {
        result["truncated"] = json!(true);
    }
    let notes: Vec<&str> = found.stopped.into_iter().chain(found.remark).collect();
    if !notes.is_empty() {
        result["note"] = json!(notes.join(" "));
    }
    result
}

fn shown_path(shown_root: &Path, root: &Path, path: &Path) -> String {
    let shown: PathBuf = match path.strip_prefix(root) {
        Ok(below) if !below.as_os_str().is_empty() => shown_root.join(below),
        _ => shown_root.to_owned(),
    };
    shown.display().to_string()
}

/// The page of a list, and whether there is more.
fn page_of<T>(all: &[T], page: ResultPage) -> (&[T], bool) {
    let start = page.skip.min(all.len());
    let end = start.saturating_add(page.limit).min(all.len());
    (all.get(start..end).unwrap_or_default(), end < all.len())
}

/// The page counts matches; lines around a match come along with it.
fn lines_of(found: &SearchResults, page: ResultPage) -> (&[ResultLine], bool) {
    let after = page.skip.saturating_add(page.limit);
    let mut seen = 0;
    let mut start = found.matches.len();
    let mut end = found.matches.len();
    for (index, line) in found.matches.iter().enumerate() {
        if line.is_match {
            if seen == page.skip {
                start = start.min(context_start(&found.matches, index));
            }
            if seen == after {
                end = context_start(&found.matches, index).max(start);
                break;
            }
            seen += 1;
        }
    }
    let lines = found.matches.get(start..end).unwrap_or_default();
    (lines, found.total > after)
}

/// Where the lines before a match begin: those right above it in the same file.
fn context_start(lines: &[ResultLine], index: usize) -> usize {
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
