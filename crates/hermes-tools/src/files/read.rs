//! `read_file`: a page of a text file with line numbers. Changes nothing and shows no credentials.

use std::path::{Path, PathBuf};

use hermes_secret::{Sink, is_variables_file};
use serde_json::{Value, json};

use super::file_ledger::{PageKey, PageStatus};
use super::filesystem::{Content, PageRead};
use super::page::PageRequest;
use crate::argument::{ArgKind, Argument};
use crate::context::CallContext;
use crate::tool::{Tool, ToolReach, error};

const DEFAULT_LIMIT: u64 = 500;
const MAX_LIMIT: i64 = 2000;

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
    fn name(&self) -> &'static str {
        "read_file"
    }

    fn toolset(&self) -> &'static str {
        "file"
    }

    fn description(&self) -> &'static str {
        "Reads a text file and returns its lines, each as 'number|text'. Use this instead of cat, \
         head or tail. Large files are read in pages with offset and limit; 'hint' says where the \
         next page starts. A page that was already shown and has not changed is not repeated. For \
         images use vision_analyze."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::required(
                "path",
                ArgKind::Text,
                "File to read: absolute, relative to the working directory, or starting with ~/.",
            ),
            Argument::optional(
                "offset",
                ArgKind::ClampedInt {
                    min: 1,
                    max: i64::MAX,
                },
                "First line, counted from 1. Default 1.",
            ),
            Argument::optional(
                "limit",
                ArgKind::ClampedInt {
                    min: 1,
                    max: i64::MAX,
                },
                "Most lines to return. Default 500, at most 2000.",
            ),
        ];
        ARGUMENTS
    }

    fn reach(&self) -> ToolReach {
        ToolReach::ReadsPath
    }

    fn bounds_its_own_result(&self) -> bool {
        true
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match self.read(args, context) {
            Ok(result) => result,
            Err(message) => error(message),
        }
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
        let file = match files.read_page(&path, wanted, context)? {
            PageRead::File(file) => file,
            PageRead::Missing { neighbours } => return Ok(not_found(raw, &path, neighbours)),
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
        let lines = match file.content {
            Content::Text(lines) => lines,
            Content::BinaryFile(data) => return Ok(data.to_json(file.size)),
        };
        let holds_variables = is_variables(&path) || is_variables(&file.real);
        let key = PageKey {
            path: file.real,
            offset: wanted.offset,
            limit: wanted.limit,
        };
        match context.files.note_read(key, file.stamp) {
            PageStatus::New => {
                let page = lines.to_json(wanted.offset, file.size);
                Ok(if holds_variables {
                    masked(page, context)
                } else {
                    page
                })
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

/// The page of a file of variables, without the secret ones.
fn masked(mut page: Value, context: &CallContext) -> Value {
    let redactor = context.redactor.for_sink(Sink::Variables);
    if let Some(Value::String(content)) = page.get_mut("content") {
        *content = redactor.redact(content).into_owned();
    }
    page
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
