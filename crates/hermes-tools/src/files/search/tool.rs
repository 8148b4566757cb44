//! `search_files`: the tool around a search, wherever the files are.

use hermes_secret::Sink;
use serde_json::Value;

use super::query::FileQuery;
use super::report::report;
use super::results::SearchResults;
use crate::argument::{ArgKind, Argument};
use crate::context::CallContext;
use crate::files::read::is_variables;
use crate::tool::{Tool, ToolReach, error};

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
                ArgKind::Text,
                "Regular expression (target 'content') or glob such as *.py (target 'files').",
            ),
            Argument::optional(
                "target",
                ArgKind::Choice(&["content", "files", "grep", "find"]),
                "'content' searches in files, 'files' searches names. Default 'content'.",
            ),
            Argument::optional(
                "path",
                ArgKind::Text,
                "Directory or file to search. Default: the working directory.",
            ),
            Argument::optional(
                "file_glob",
                ArgKind::Text,
                "Only files whose name matches this glob, with target 'content'.",
            ),
            Argument::optional(
                "limit",
                ArgKind::ClampedInt { min: 1, max: 1000 },
                "Most results to return. Default 50.",
            ),
            Argument::optional(
                "offset",
                ArgKind::ClampedInt {
                    min: 0,
                    max: i64::MAX,
                },
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
        ];
        ARGUMENTS
    }

    fn reach(&self) -> ToolReach {
        ToolReach::ReadOnly
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match search(args, context) {
            Ok(result) => result,
            Err(message) => error(message),
        }
    }
}

fn search(args: &Value, context: &CallContext) -> Result<Value, String> {
    let query = FileQuery::of(args, context)?;
    let mut found = context.filesystem.operations().search(&query, context)?;
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
