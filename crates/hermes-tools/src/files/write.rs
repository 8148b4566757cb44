//! `write_file`: the whole content of a file, all or nothing.

use std::path::{Path, PathBuf};

use hermes_telemetry::best_effort;
use serde_json::{Value, json};

use super::masks::refuse_masks;
use super::syntax::{FORCE, lint, refuse_broken};
use super::text_file::TextFile;
use crate::argument::{ArgKind, Argument};
use crate::filesystem::{CrossProfile, Writing};
use crate::result::error;
use crate::tool::{CallContext, Tool, ToolReach, ToolSpec};

const SPEC: ToolSpec = ToolSpec {
    name: "write_file",
    toolset: "file",
    description: "Writes a file: its whole content is replaced, missing directories are created. Use this \
     instead of echo or a heredoc. To change a part of a file use patch. JSON, YAML, TOML and \
     Python that does not parse is refused, unless force is true.",
    arguments: &[
        Argument::required(
            "path",
            ArgKind::Text,
            "File to write: absolute, relative to the working directory, or starting with ~/.",
        ),
        Argument::required("content", ArgKind::Document, "The whole new content."),
        CROSS_PROFILE,
        FORCE,
    ],
    reach: ToolReach::ChangesPath,
    ..ToolSpec::DEFAULT
};

/// A file up to this size is compared with what replaces it.
const MAX_COMPARED_BYTES: u64 = 8 * 1024 * 1024;

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct WriteFileTool;

impl Tool for WriteFileTool {
    fn spec(&self) -> ToolSpec<'_> {
        SPEC
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
    let files = context.filesystem.operations();
    files.check_write(&writing(&path, args, context))
}

fn writing<'a>(path: &'a Path, args: &Value, context: &'a CallContext) -> Writing<'a> {
    Writing {
        path,
        cross_profile: cross_profile(args),
        call: context.file_call(),
    }
}

/// The text that is there now. A file that is no text or too large is replaced as it is.
fn present_text(args: &Value, context: &CallContext) -> Option<TextFile> {
    let path = context.resolve(args["path"].as_str()?).ok()?;
    let files = context.filesystem.operations();
    let write = writing(&path, args, context);
    let loaded = best_effort("look at the file to be replaced", || {
        files.load(&write, MAX_COMPARED_BYTES)
    });
    loaded
        .flatten()
        .and_then(|loaded| TextFile::parse(loaded).ok())
}

fn write(args: &Value, context: &CallContext) -> Result<Value, String> {
    let content = args["content"].as_str().unwrap_or_default();
    let shown = args["path"].as_str().unwrap_or_default();
    let target = checked_target(args, context)?;
    let present = present_text(args, context);
    let before = present.as_ref().map(|present| present.text.as_str());
    if args["force"] != json!(true) {
        refuse_broken(shown, &target, before, content)?;
    }
    refuse_masks(shown, before, content, &context.redactor)?;
    let (bytes, note) = match &present {
        Some(present) => (present.encode(content), present.kept_form(content)),
        None => (content.as_bytes().to_vec(), None),
    };
    let files = context.filesystem.operations();
    let written = files.write(&target, &bytes, context.file_call())?;
    let target = &written.target;
    let warning = context.files.staleness(target, written.before.as_ref());
    context.files.note_written(target, written.after);
    let mut result = json!({
        "bytes_written": bytes.len(),
        "dirs_created": written.dirs_created,
        "lint": lint(target, content),
    });
    if let Some(note) = note {
        result["note"] = json!(note);
    }
    if let Some(warning) = warning {
        result["_warning"] = json!(warning);
    }
    Ok(result)
}
