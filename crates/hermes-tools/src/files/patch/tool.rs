//! `patch`: the tool around planning and applying, and its report.

use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::apply::apply;
use super::plan::{FileEdit, plan};
use crate::argument::{ArgKind, Argument};
use crate::files::syntax::{FORCE, lint};
use crate::files::write::{CROSS_PROFILE, verdict_of};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const SPEC: ToolSpec = ToolSpec {
    name: "patch",
    toolset: "file",
    description: "Changes parts of files. Mode 'replace' (default) replaces old_string by new_string in one \
     file; small differences in blanks and indentation are forgiven, but the place must be \
     unique unless replace_all is true. Mode 'patch' changes several files at once, all or \
     none: '*** Begin Patch', then per file '*** Update File: path' with lines starting with \
     ' ', '-' or '+', '*** Add File: path' with '+' lines, or '*** Delete File: path', then \
     '*** End Patch'. Use this instead of sed. The result has the diff. An edit after which JSON, \
     YAML, TOML or Python would no longer parse is refused.",
    arguments: &[
        Argument::text("path", "File to change, in mode 'replace'."),
        Argument::text("old_string", "Text to replace, quoted from the file."),
        Argument::text("new_string", "Text that takes its place; may be empty."),
        Argument::flag("replace_all", "Replace every occurrence. Default false."),
        Argument::optional(
            "mode",
            ArgKind::Choice(&["replace", "patch"]),
            "'replace' or 'patch'. Default 'replace'.",
        ),
        Argument::text("patch", "The patch, in mode 'patch'."),
        CROSS_PROFILE,
        FORCE,
    ],
    reach: ToolReach::ChangesPath,
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatchTool;

impl Tool for PatchTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let edits = match plan(args, context) {
            Ok(edits) => edits,
            Err(message) => return error(message),
        };
        let warnings: Vec<String> = edits
            .iter()
            .filter_map(|edit| {
                let now = edit.before.as_ref().map(|before| &before.stamp);
                context.files.staleness(&edit.target, now)
            })
            .collect();
        if let Err(message) = apply(&edits, context) {
            return error(message);
        }
        let mut result = report(&edits);
        if !warnings.is_empty() {
            result["_warning"] = json!(warnings.join(" "));
        }
        result
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        verdict_of(plan(args, context).map(drop))
    }
}

fn report(edits: &[FileEdit]) -> Value {
    let shown = |wanted: fn(&FileEdit) -> bool| -> Vec<&str> {
        let edits = edits.iter().filter(|edit| wanted(edit));
        edits.map(|edit| edit.shown.as_str()).collect()
    };
    let mut result = json!({
        "success": true,
        "diff": edits.iter().map(diff).collect::<String>(),
        "files_modified": shown(|edit| edit.before.is_some() && edit.after.is_some()),
    });
    let created = shown(|edit| edit.before.is_none());
    if !created.is_empty() {
        result["files_created"] = json!(created);
    }
    let deleted = shown(|edit| edit.after.is_none());
    if !deleted.is_empty() {
        result["files_deleted"] = json!(deleted);
    }
    let findings: Map<String, Value> = edits
        .iter()
        .filter_map(|edit| {
            let text = edit.after.as_ref()?;
            Some((edit.shown.clone(), lint(&edit.target, text)))
        })
        .collect();
    result["lint"] = Value::Object(findings);
    result
}

fn diff(edit: &FileEdit) -> String {
    let before = edit.before.as_ref();
    let before = before.map_or("", |before| before.text.as_str());
    let after = edit.after.as_deref().unwrap_or_default();
    let name = |side: &str, there: bool| {
        if there {
            format!("{side}/{}", edit.shown.trim_start_matches('/'))
        } else {
            "/dev/null".to_owned()
        }
    };
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(
            &name("a", edit.before.is_some()),
            &name("b", edit.after.is_some()),
        )
        .to_string()
}
