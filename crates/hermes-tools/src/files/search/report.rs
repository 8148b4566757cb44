//! The result of a search: the page that was asked for, and whether there is more.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::query::{FileQuery, OutputMode, ResultPage, SearchTarget};
use super::results::{ResultLine, SearchResults};

/// The result of the call.
pub(super) fn report(query: &FileQuery, found: &SearchResults) -> Value {
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
