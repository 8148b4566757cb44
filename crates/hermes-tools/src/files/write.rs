//! `write_file`: the whole content of a file, all or nothing.

use std::path::Path;

use serde_json::{Value, json};

use super::lint::lint;
use super::text_file::{new_directory_mode, new_file_mode};
use crate::argument::{Argument, Kind};
use crate::context::{CallContext, CrossProfile};
use crate::tool::{Tool, error};

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
                Kind::Text,
                "File to write: absolute, relative to the working directory, or starting with ~/.",
            ),
            Argument::required("content", Kind::Text, "The whole new content."),
            CROSS_PROFILE,
        ];
        ARGUMENTS
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        match write(args, context) {
            Ok(result) => result,
            Err(message) => error(message),
        }
    }

    fn verdict(&self, args: &Value, context: &CallContext) -> Value {
        let raw = args["path"].as_str().unwrap_or_default();
        let allowed = context
            .resolve(raw)
            .and_then(|path| context.write_guard.check(&path, cross_profile(args)));
        verdict_of(allowed.map(drop))
    }
}

/// The argument all writing tools share.
pub(super) const CROSS_PROFILE: Argument = Argument::optional(
    "cross_profile",
    Kind::Flag,
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
    let target = context.write_guard.check(&path, cross_profile(args))?;
    refuse_special(&target)?;
    let warning = context.files.staleness(&target);
    let dirs_created = make_parent(&target)?;
    hermes_fs::write_atomic(&target, content.as_bytes(), new_file_mode())
        .map_err(|error| error.to_string())?;
    context.files.note_written(&target);
    let mut result = json!({
        "bytes_written": content.len(),
        "dirs_created": dirs_created,
        "lint": lint(&target, content),
    });
    if let Some(warning) = warning {
        result["_warning"] = json!(warning);
    }
    Ok(result)
}

/// Only regular files are replaced: a rename over a socket or FIFO would take it from its owner.
pub(super) fn refuse_special(target: &Path) -> Result<(), String> {
    match hermes_fs::metadata(target) {
        Ok(meta) if meta.is_dir() => Err(format!("{} is a directory.", target.display())),
        Ok(meta) if !meta.is_file() => Err(format!(
            "{} is not a regular file and is not replaced.",
            target.display()
        )),
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// Makes the directory of a file; says whether it had to.
pub(super) fn make_parent(target: &Path) -> Result<bool, String> {
    match target.parent() {
        Some(parent) if !parent.is_dir() => {
            hermes_fs::create_dir_all(parent, new_directory_mode())
                .map_err(|error| error.to_string())?;
            Ok(true)
        }
        _ => Ok(false),
    }
}
