//! Writing what was planned: each file atomically, and the files before a failure put back.

use std::path::Path;

use hermes_telemetry::best_effort;

use super::plan::Step;
use crate::context::CallContext;
use crate::files::text_file::new_file_mode;
use crate::files::write::make_parent;

/// Makes all changes, or none: after a failure what was already changed is restored. The error is a
/// sentence.
pub(super) fn apply(steps: &[Step], context: &CallContext) -> Result<(), String> {
    for (index, step) in steps.iter().enumerate() {
        if let Err(message) = apply_one(step) {
            let done = steps.get(..index).unwrap_or_default();
            let unrestored: Vec<&str> = done
                .iter()
                .rev()
                .filter(|step| best_effort("restore a file", || restore(step)).is_none())
                .map(|step| step.shown.as_str())
                .collect();
            return Err(if unrestored.is_empty() {
                format!("{message}. No file was changed.")
            } else {
                format!(
                    "{message}. These files keep their new content: {}.",
                    unrestored.join(", ")
                )
            });
        }
    }
    for step in steps {
        context.files.note_written(&step.target);
    }
    Ok(())
}

fn apply_one(step: &Step) -> Result<(), String> {
    match (&step.before, &step.after) {
        (Some(before), Some(after)) => write(&step.target, &before.encode(after)),
        (None, Some(after)) => {
            make_parent(&step.target)?;
            write(&step.target, after.as_bytes())
        }
        (_, None) => hermes_fs::remove_file(&step.target).map_err(|error| error.to_string()),
    }
}

fn restore(step: &Step) -> Result<(), String> {
    match &step.before {
        Some(before) => write(&step.target, &before.bytes),
        None => hermes_fs::remove_file(&step.target).map_err(|error| error.to_string()),
    }
}

fn write(target: &Path, bytes: &[u8]) -> Result<(), String> {
    hermes_fs::write_atomic(target, bytes, new_file_mode()).map_err(|error| error.to_string())
}
