//! `write_file`: the whole content of a file, all or nothing.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::lint::lint;
use crate::argument::{ArgKind, Argument};
use crate::filesystem::{CrossProfile, Writing};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const SPEC: ToolSpec = ToolSpec {
    name: "write_file",
    toolset: "file",
    description: "Writes a file: its whole content is replaced, missing directories are created. Use this \
     instead of echo or a heredoc. To change a part of a file use patch. JSON and YAML files \
     are checked afterwards; the finding is in 'lint'.",
    arguments: &[
        Argument::required(
            "path",
            ArgKind::Text,
            "File to write: absolute, relative to the working directory, or starting with ~/.",
        ),
        Argument::required("content", ArgKind::Document, "The whole new content."),
        CROSS_PROFILE,
    ],
    reach: ToolReach::ChangesPath,
    ..ToolSpec::DEFAULT
};

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFileTool;

impl Tool for WriteFileTool {
    fn spec(&self) -> &'static ToolSpec {
        &SPEC
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        write(args, context).unwrap_or_else(error)
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        verdict_of(checked_target(args, context).map(drop))
    }
}

/// The argument all writing tools share.
pub(super) const CROSS_PROFILE: Argument = Argument::flag(
    "cross_profile",
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

/// Where the write of a call ends, if it is allowed.
fn checked_target(args: &Value, context: &CallContext) -> Result<PathBuf, String> {
    let path = context.resolve(args["path"].as_str().unwrap_or_default())?;
    context.filesystem.operations().check_write(&Writing {
        path: &path,
        cross_profile: cross_profile(args),
        call: context.file_call(),
    })
}

fn write(args: &Value, context: &CallContext) -> Result<Value, String> {
    let content = args["content"].as_str().unwrap_or_default();
    let target = checked_target(args, context)?;
    let files = context.filesystem.operations();
    let written = files.write(&target, content.as_bytes(), context.file_call())?;
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
