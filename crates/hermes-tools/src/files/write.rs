//! `write_file`: the whole content of a file, all or nothing.

use serde_json::{Value, json};

use super::filesystem::Writing;
use super::lint::lint;
use crate::argument::{ArgKind, Argument};
use crate::context::{CallContext, CrossProfile};
use crate::tool::{Tool, ToolReach, error};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFileTool;

impl Tool for WriteFileTool {
    fn name(&self) -> &'static str {
        "write_file"
    }

    fn toolset(&self) -> &'static str {
        "file"
    }

    fn description(&self) -> &'static str {
        "Writes a file: its whole content is replaced, missing directories are created. Use this \
         instead of echo or a heredoc. To change a part of a file use patch. JSON and YAML files \
         are checked afterwards; the finding is in 'lint'."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::required(
                "path",
                ArgKind::Text,
                "File to write: absolute, relative to the working directory, or starting with ~/.",
            ),
            Argument::required("content", ArgKind::Document, "The whole new content."),
            CROSS_PROFILE,
        ];
        ARGUMENTS
    }

    fn reach(&self) -> ToolReach {
        ToolReach::ChangesPath
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match write(args, context) {
            Ok(result) => result,
            Err(message) => error(message),
        }
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        let raw = args["path"].as_str().unwrap_or_default();
        let allowed = context.resolve(raw).and_then(|path| {
            let files = context.filesystem.operations();
            files.check_write(&Writing {
                path: &path,
                cross_profile: cross_profile(args),
                context,
            })
        });
        verdict_of(allowed.map(drop))
    }
}

/// The argument all writing tools share.
pub(super) const CROSS_PROFILE: Argument = Argument::optional(
    "cross_profile",
    ArgKind::Flag,
    "Set to true only when the user asked to change files of another profile.",
);

pub(super) fn cross_profile(args: &Value) -> CrossProfile {
    if args["cross_profile"] == json!(true) {
        CrossProfile::Allowed
    } else {
        CrossProfile::Refused
    }
}

pub(super) fn verdict_of(allowed: Result<(), String>) -> Value {
    match allowed {
        Ok(()) => json!({"approved": true}),
        Err(message) => json!({"approved": false, "message": message}),
    }
}

fn write(args: &Value, context: &CallContext) -> Result<Value, String> {
    let raw = args["path"].as_str().unwrap_or_default();
    let content = args["content"].as_str().unwrap_or_default();
    let path = context.resolve(raw)?;
    let files = context.filesystem.operations();
    let target = files.check_write(&Writing {
        path: &path,
        cross_profile: cross_profile(args),
        context,
    })?;
    let written = files.write(&target, content.as_bytes(), context)?;
    let target = &written.target;
    let warning = context.files.staleness(target, written.before.as_ref());
    context.files.note_written(target, written.after);
    let mut result = json!({
        "bytes_written": content.len(),
        "dirs_created": written.dirs_created,
        "lint": lint(target, content),
    });
    if let Some(warning) = warning {
        result["_warning"] = json!(warning);
    }
    Ok(result)
}
