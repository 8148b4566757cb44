//! Writing what was planned: each file atomically, and the files before a failure put back.

use hermes_telemetry::best_effort;

use super::plan::FileEdit;
use crate::file_ledger::FileStamp;
use crate::tool::CallContext;

/// Makes all changes, or none: after a failure what was already changed is restored. The error is a
/// sentence.
pub(super) fn apply(edits: &[FileEdit], context: &CallContext) -> Result<(), String> {
    let mut stamps = Vec::with_capacity(edits.len());
    for (index, edit) in edits.iter().enumerate() {
        match apply_one(edit, context) {
            Ok(stamp) => stamps.push(stamp),
            Err(message) => {
                return Err(undone(
                    edits.get(..index).unwrap_or_default(),
                    message,
                    context,
                ));
            }
        }
    }
    for (edit, stamp) in edits.iter().zip(stamps) {
        context.files.note_written(&edit.target, stamp);
    }
    Ok(())
}

/// Puts back what was done before a failure; the message with how that went.
fn undone(done: &[FileEdit], message: String, context: &CallContext) -> String {
    let unrestored: Vec<&str> = done
        .iter()
        .rev()
        .filter(|edit| best_effort("restore a file", || restore(edit, context)).is_none())
        .map(|edit| edit.shown.as_str())
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
fn apply_one(edit: &FileEdit, context: &CallContext) -> Result<Option<FileStamp>, String> {
    let files = context.filesystem.operations();
    let bytes = match (&edit.before, &edit.after) {
        (Some(before), Some(after)) => before.encode(after),
        (None, Some(after)) => after.clone().into_bytes(),
        (_, None) => {
            return files
                .remove(&edit.target, context.file_call())
                .map(|()| None);
        }
    };
    let written = files.write(&edit.target, &bytes, context.file_call())?;
    Ok(written.after)
}

fn restore(edit: &FileEdit, context: &CallContext) -> Result<(), String> {
    let files = context.filesystem.operations();
    match &edit.before {
        Some(before) => files
            .write(&edit.target, &before.bytes, context.file_call())
            .map(drop),
        None => files.remove(&edit.target, context.file_call()),
    }
}
