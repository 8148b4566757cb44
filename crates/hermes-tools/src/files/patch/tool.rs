//! `patch`: the tool around planning and applying, and its report.

use serde_json::{Map, Value, json};
use similar::TextDiff;

use super::apply::apply;
use super::plan::{Step, plan};
use crate::argument::{Argument, Kind};
use crate::context::CallContext;
use crate::files::lint::lint;
use crate::files::write::{CROSS_PROFILE, verdict_of};
use crate::tool::{Reach, Tool, error};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct PatchTool;

impl Tool for PatchTool {
    fn name(&self) -> &'static str {
        "patch"
    }

    fn toolset(&self) -> &'static str {
        "file"
    }

    fn description(&self) -> &'static str {
        "Changes parts of files. Mode 'replace' (default) replaces old_string by new_string in one \
         file; small differences in blanks and indentation are forgiven, but the place must be \
         unique unless replace_all is true. Mode 'patch' changes several files at once, all or \
         none: '*** Begin Patch', then per file '*** Update File: path' with lines starting with \
         ' ', '-' or '+', '*** Add File: path' with '+' lines, or '*** Delete File: path', then \
         '*** End Patch'. Use this instead of sed. The result has the diff."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::optional("path", Kind::Text, "File to change, in mode 'replace'."),
            Argument::optional(
                "old_string",
                Kind::Text,
                "Text to replace, quoted from the file.",
            ),
            Argument::optional(
                "new_string",
                Kind::Text,
                "Text that takes its place; may be empty.",
            ),
            Argument::optional(
                "replace_all",
                Kind::Flag,
                "Replace every occurrence. Default false.",
            ),
            Argument::optional(
                "mode",
                Kind::Choice(&["replace", "patch"]),
                "'replace' or 'patch'. Default 'replace'.",
            ),
            Argument::optional("patch", Kind::Text, "The patch, in mode 'patch'."),
            CROSS_PROFILE,
        ];
        ARGUMENTS
    }

    fn reach(&self) -> Reach {
        Reach::ChangesPath
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        let steps = match plan(args, context) {
            Ok(steps) => steps,
            Err(message) => return error(message),
        };
        let warnings: Vec<String> = steps
            .iter()
            .filter_map(|step| {
                let now = step.before.as_ref().map(|before| &before.stamp);
                context.files.staleness(&step.target, now)
            })
            .collect();
        if let Err(message) = apply(&steps, context) {
            return error(message);
        }
        let mut result = report(&steps);
        if !warnings.is_empty() {
            result["_warning"] = json!(warnings.join(" "));
        }
        result
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        verdict_of(plan(args, context).map(drop))
    }
}

fn report(steps: &[Step]) -> Value {
    let shown = |wanted: fn(&Step) -> bool| -> Vec<&str> {
        let steps = steps.iter().filter(|step| wanted(step));
        steps.map(|step| step.shown.as_str()).collect()
    };
    let mut result = json!({
        "success": true,
        "diff": steps.iter().map(diff).collect::<String>(),
        "files_modified": shown(|step| step.before.is_some() && step.after.is_some()),
    });
    let created = shown(|step| step.before.is_none());
    if !created.is_empty() {
        result["files_created"] = json!(created);
    }
    let deleted = shown(|step| step.after.is_none());
    if !deleted.is_empty() {
        result["files_deleted"] = json!(deleted);
    }
    let findings: Map<String, Value> = steps
        .iter()
        .filter_map(|step| {
            let text = step.after.as_ref()?;
            Some((step.shown.clone(), lint(&step.target, text)))
        })
        .collect();
    result["lint"] = Value::Object(findings);
    result
}

fn diff(step: &Step) -> String {
    let before = step.before.as_ref();
    let before = before.map_or("", |before| before.file.text.as_str());
    let after = step.after.as_deref().unwrap_or_default();
    let name = |side: &str, there: bool| {
        if there {
            format!("{side}/{}", step.shown.trim_start_matches('/'))
        } else {
            "/dev/null".to_owned()
        }
    };
    TextDiff::from_lines(before, after)
        .unified_diff()
        .context_radius(3)
        .header(
            &name("a", step.before.is_some()),
            &name("b", step.after.is_some()),
        )
        .to_string()
}
