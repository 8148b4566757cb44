//! `read_file`: a page of a text file with line numbers. Changes nothing and shows no credentials.

use std::path::{Path, PathBuf};

use hermes_secret::{Sink, is_variables_file};
use serde_json::{Value, json};

use crate::argument::{ArgKind, Argument};
use crate::file_ledger::{PageKey, PageStatus};
use crate::filesystem::{FileContent, PageRead, PageRequest};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const DEFAULT_LIMIT: u64 = 500;
const MAX_LIMIT: i64 = 2000;

const SPEC: ToolSpec = ToolSpec {
    name: "read_file",
    toolset: "file",
    description: "Reads a text file and returns its lines, each as 'number|text'. Use this instead of cat, \
     head or tail. Large files are read in pages with offset and limit; 'hint' says where the \
     next page starts. A page that was already shown and has not changed is not repeated. For \
     images use vision_analyze.",
    arguments: &[
        Argument::required(
            "path",
            ArgKind::Text,
            "File to read: absolute, relative to the working directory, or starting with ~/.",
        ),
        Argument::optional(
            "offset",
            ArgKind::clamped_from(1),
            "First line, counted from 1. Default 1.",
        ),
        Argument::optional(
            "limit",
            ArgKind::clamped_from(1),
            "Most lines to return. Default 500, at most 2000.",
        ),
    ],
    reach: ToolReach::ReadsPath,
    bounds_result: true,
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy)]
pub struct ReadFileTool {
    /// Most characters of a page (`file_read_max_chars`).
    pub max_chars: usize,
    /// Most lines of a page (`tool_output.max_lines`).
    pub max_lines: u64,
    /// Longer lines are cut, in characters (`tool_output.max_line_length`).
    pub max_line_chars: usize,
}

impl Default for ReadFileTool {
    fn default() -> Self {
        Self {
            max_chars: 100_000,
            max_lines: MAX_LIMIT.unsigned_abs(),
            max_line_chars: 2000,
        }
    }
}

impl Tool for ReadFileTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        self.read(args, context).unwrap_or_else(error)
    }
}

impl ReadFileTool {
    fn read(self, args: &Value, context: &CallContext) -> Result<Value, String> {
        let raw = args["path"].as_str().unwrap_or_default();
        let limit = args["limit"].as_u64().unwrap_or(DEFAULT_LIMIT);
        let wanted = PageRequest {
            offset: args["offset"].as_u64().unwrap_or(1),
            limit: limit.min(self.max_lines.max(1)),
            max_chars: self.max_chars,
            max_line_chars: self.max_line_chars.max(1),
        };
        let path = context.resolve(raw)?;
        let files = context.filesystem.operations();
        let (real, size, stamp, content) =
            match files.read_page(&path, wanted, context.file_call())? {
                PageRead::File {
                    real,
                    size,
                    stamp,
                    content,
                } => (real, size, stamp, content),
                PageRead::Missing(neighbours) => return Ok(not_found(raw, &path, neighbours)),
                PageRead::Directory => {
                    return Err(format!(
                        "{} is a directory; list it with search_files and target 'files'.",
                        path.display()
                    ));
                }
                PageRead::Special => {
                    return Err(format!(
                        "{} is not a regular file; reading it might never end.",
                        path.display()
                    ));
                }
            };
        let lines = match content {
            FileContent::Text(lines) => lines,
            FileContent::Binary(data) => return Ok(data.to_json(size)),
        };
        let holds_variables = is_variables(&path) || is_variables(&real);
        let key = PageKey {
            path: real,
            offset: wanted.offset,
            limit: wanted.limit,
        };
        match context.files.note_read(key, stamp) {
            PageStatus::New => {
                let mut page = lines.to_json(wanted.offset, size);
                // The secret ones of variables are not shown.
                if holds_variables && let Some(Value::String(content)) = page.get_mut("content") {
                    let redactor = context.redactor.for_sink(Sink::Variables);
                    *content = redactor.redact(content).into_owned();
                }
                Ok(page)
            }
            PageStatus::Unchanged => Ok(json!({
                "status": "unchanged",
                "dedup": true,
                "path": raw,
                "message": "This page was already shown in this conversation and the file has not \
                            changed since; use what was shown.",
            })),
            PageStatus::RequestedAgain => Err(format!(
                "BLOCKED: {raw} (lines from {}) was requested again although it has not changed. \
                 It is above in this conversation; continue with the task, or read other lines.",
                wanted.offset
            )),
        }
    }
}

/// Whether names in a file say what their values are.
pub(super) fn is_variables(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str());
    name.is_some_and(is_variables_file)
}

fn not_found(raw: &str, path: &Path, neighbours: Vec<PathBuf>) -> Value {
    let mut result = error(format!("File not found: {raw}"));
    let similar = similar_names(path, neighbours);
    if !similar.is_empty() {
        let similar: Vec<String> = similar
            .iter()
            .map(|path| path.display().to_string())
            .collect();
        result["similar_files"] = json!(similar);
    }
    result
}

/// Neighbours whose name is nearly the one asked for.
fn similar_names(path: &Path, neighbours: Vec<PathBuf>) -> Vec<PathBuf> {
    const MOST: usize = 5;
    let Some(name) = path.file_name() else {
        return Vec::new();
    };
    let wanted = name.to_string_lossy().to_lowercase();
    let stem = Path::new(&wanted).file_stem().map(|s| s.to_string_lossy());
    let close = |path: &PathBuf| {
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return false;
        };
        let name = name.to_lowercase();
        let its_stem = Path::new(&name).file_stem().map(|s| s.to_string_lossy());
        its_stem == stem || name.contains(&wanted) || wanted.contains(&name)
    };
    let mut found: Vec<PathBuf> = neighbours.into_iter().filter(close).collect();
    found.sort();
    found.truncate(MOST);
    found
}
