//! Writing what was planned: each file atomically, and the files before a failure put back.

use hermes_telemetry::best_effort;

use super::plan::Step;
use crate::context::CallContext;
use crate::files::ledger::Stamp;

/// Makes all changes, or none: after a failure what was already changed is restored. The error is a
/// sentence.
pub(super) fn apply(steps: &[Step], context: &CallContext) -> Result<(), String> {
    let mut stamps = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        match apply_one(step, context) {
            Ok(stamp) => stamps.push(stamp),
            Err(message) => {
                return Err(undone(
                    steps.get(..index).unwrap_or_default(),
                    message,
                    context,
                ));
            }
        }
    }
    for (step, stamp) in steps.iter().zip(stamps) {
        context.files.note_written(&step.target, stamp);
    }
    Ok(())
}

/// Puts back what was done before a failure; the message with how that went.
fn undone(done: &[Step], message: String, context: &CallContext) -> String {
    let unrestored: Vec<&str> = done
        .iter()
        .rev()
        .filter(|step| best_effort("restore a file", || restore(step, context)).is_none())
        .map(|step| step.shown.as_str())
        .collect();
    if unrestored.is_empty() {
        format!("{message}. No file was changed.")
    } else {
        format!(
            "{message}. These files keep their new content: {}.",
            unrestored.join(", ")
        )
    }
}

/// The state of the file afterwards; `None` if it is gone.
fn apply_one(step: &Step, context: &CallContext) -> Result<Option<Stamp>, String> {
    let files = context.filesystem.operations();
    let bytes = match (&step.before, &step.after) {
        (Some(before), Some(after)) => before.file.encode(after),
        (None, Some(after)) => after.clone().into_bytes(),
        (_, None) => return files.remove(&step.target, context).map(|()| None),
    };
    let written = files.write(&step.target, &bytes, context)?;
    Ok(written.after)
}

fn restore(step: &Step, context: &CallContext) -> Result<(), String> {
    let files = context.filesystem.operations();
    match &step.before {
        Some(before) => files
            .write(&step.target, &before.file.bytes, context)
            .map(drop),
        None => files.remove(&step.target, context),
    }
}
