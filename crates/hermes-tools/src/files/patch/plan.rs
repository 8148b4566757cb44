//! From a call to the new contents of files: everything is read, guarded and matched before the
//! first byte is written.

use std::path::PathBuf;

use serde_json::Value;

use super::hunks::{FileChange, Hunk, parse};
use super::matching::{MatchKind, TextMatches, find, nearest};
use super::replacement::Replacement;
use crate::files::masks::refuse_masks;
use crate::files::syntax::refuse_broken;
use crate::files::text_file::{MAX_EDITED_BYTES, TextFile};
use crate::files::write::cross_profile;
use crate::filesystem::{FileOperations, Writing};
use crate::tool::CallContext;

#[derive(Debug)]
pub(super) struct FileEdit {
    /// As the call wrote it.
    pub(super) shown: String,
    /// Where it is, links resolved.
    pub(super) target: PathBuf,
    /// What it is now; `None` if it does not exist.
    pub(super) before: Option<TextFile>,
    /// Its content afterwards; `None` if it goes.
    pub(super) after: Option<String>,
}

impl FileEdit {
    /// A change of an existing file; without a new content it goes.
    fn of(shown: &str, before: TextFile, after: Option<String>) -> Self {
        Self {
            shown: shown.to_owned(),
            target: before.target.clone(),
            before: Some(before),
            after,
        }
    }
}

/// What a call would change; the error is a sentence.
pub(super) fn plan(args: &Value, context: &CallContext) -> Result<Vec<FileEdit>, String> {
    let planner = Planner { args, context };
    let edits = match args["mode"].as_str() {
        Some("patch") => planner.patch(),
        _ => planner.replace(),
    }?;
    for edit in &edits {
        let Some(after) = &edit.after else { continue };
        // A file that moves may stay as it was under its old name.
        let moved = || edits.iter().find(|other| other.after.is_none());
        let before = edit.before.as_ref().or_else(|| moved()?.before.as_ref());
        let before = before.map(|before| before.text.as_str());
        if args["force"] != Value::Bool(true) {
            refuse_broken(&edit.shown, &edit.target, before, after)?;
        }
        refuse_masks(&edit.shown, before, after, &context.redactor)?;
    }
    Ok(edits)
}

/// A text with a piece replaced that was quoted from memory, and in how many places. `shown` is the
/// file for messages; the error is a sentence.
pub(crate) fn edited_text(
    shown: &str,
    text: &str,
    old: &str,
    new: &str,
    all: bool,
) -> Result<(String, usize), String> {
    refuse_no_change(old, new)?;
    let old = old.replace("\r\n", "\n");
    let new = new.replace("\r\n", "\n");
    let found = find(text, &old).ok_or_else(|| no_match(shown, text, &old))?;
    let count = found.ranges.len();
    if count > 1 && !all {
        return Err(format!(
            "'old_string' is in {shown} {count} times. Quote more lines around the place, or set \
             replace_all to true."
        ));
    }
    let replacement = Replacement {
        old: &old,
        new: &new,
    };
    Ok((replaced(text, &found, replacement)?, count))
}

/// Refuses texts that cannot change anything, before a file is looked at.
fn refuse_no_change(old: &str, new: &str) -> Result<(), String> {
    if old.is_empty() {
        return Err("'old_string' is empty; to create a file use write_file.".to_owned());
    }
    if old == new {
        return Err("'old_string' and 'new_string' are the same.".to_owned());
    }
    Ok(())
}

struct Planner<'a> {
    args: &'a Value,
    context: &'a CallContext,
}

impl Planner<'_> {
    fn replace(&self) -> Result<Vec<FileEdit>, String> {
        let needed = |name: &str| {
            let message = format!("Missing argument '{name}': mode 'replace' needs it.");
            self.args[name].as_str().ok_or(message)
        };
        let path = needed("path")?;
        let old = needed("old_string")?;
        let new = needed("new_string")?;
        refuse_no_change(old, new)?;
        let before = self.existing(path)?;
        let all = self.args["replace_all"] == Value::Bool(true);
        let (after, _) = edited_text(path, &before.text, old, new, all)?;
        Ok(vec![FileEdit::of(path, before, Some(after))])
    }

    fn patch(&self) -> Result<Vec<FileEdit>, String> {
        let Some(patch) = self.args["patch"].as_str() else {
            return Err("Missing argument 'patch': mode 'patch' needs it.".to_owned());
        };
        let mut edits: Vec<FileEdit> = Vec::new();
        for change in parse(patch)? {
            let new = match change {
                FileChange::Update {
                    path,
                    move_to,
                    hunks,
                } => self.update(&path, move_to.as_deref(), &hunks)?,
                FileChange::Add { path, content } => vec![self.add(&path, content)?],
                FileChange::Delete { path } => {
                    vec![FileEdit::of(&path, self.existing(&path)?, None)]
                }
            };
            for edit in new {
                if edits.iter().any(|earlier| earlier.target == edit.target) {
                    return Err(format!(
                        "The patch names {} twice; put all its hunks under one heading.",
                        edit.shown
                    ));
                }
                edits.push(edit);
            }
        }
        Ok(edits)
    }

    fn update(
        &self,
        path: &str,
        move_to: Option<&str>,
        hunks: &[Hunk],
    ) -> Result<Vec<FileEdit>, String> {
        let before = self.existing(path)?;
        let mut text = before.text.clone();
        for (index, hunk) in hunks.iter().enumerate() {
            text = with_hunk(&text, hunk)
                .map_err(|message| format!("Hunk {} of {path}: {message}", index + 1))?;
        }
        let Some(new_path) = move_to else {
            return Ok(vec![FileEdit::of(path, before, Some(text))]);
        };
        let created = self.add(new_path, text)?;
        // The new name first: a failure between the two leaves both, never none.
        Ok(vec![created, FileEdit::of(path, before, None)])
    }

    fn add(&self, path: &str, content: String) -> Result<FileEdit, String> {
        let target = self.files(path, |files, write| files.vacant(write))?;
        let Some(target) = target else {
            return Err(format!("{path} exists already; the patch would add it."));
        };
        Ok(FileEdit {
            shown: path.to_owned(),
            target,
            before: None,
            after: Some(content),
        })
    }

    fn existing(&self, path: &str) -> Result<TextFile, String> {
        let loaded = self.files(path, |files, write| files.load(write, MAX_EDITED_BYTES))?;
        TextFile::parse(loaded.ok_or_else(|| format!("File not found: {path}"))?)
    }

    fn files<T>(
        &self,
        path: &str,
        what: impl FnOnce(&dyn FileOperations, &Writing<'_>) -> Result<T, String>,
    ) -> Result<T, String> {
        let path = self.context.resolve(path)?;
        let write = Writing {
            path: &path,
            cross_profile: cross_profile(self.args),
            call: self.context.file_call(),
        };
        what(self.context.filesystem.operations(), &write)
    }
}

fn with_hunk(text: &str, hunk: &Hunk) -> Result<String, String> {
    let hint = hunk.hint.as_deref();
    let start = hint.and_then(|hint| after_hint(text, hint));
    if hunk.old.is_empty() {
        // Only new lines: below the hint, or at the end.
        let at = match (hint, start) {
            (Some(hint), None) => return Err(format!("no line like '{hint}' is in the file.")),
            (_, start) => start.unwrap_or(text.len()),
        };
        let (above, below) = text.split_at_checked(at).unwrap_or((text, ""));
        let gap = if above.is_empty() || above.ends_with('\n') {
            ""
        } else {
            "\n"
        };
        return Ok(format!("{above}{gap}{}{below}", hunk.new));
    }
    let mut found = find(text, &hunk.old).ok_or_else(|| no_match("the file", text, &hunk.old))?;
    if found.ranges.len() > 1 {
        let below =
            |range: &std::ops::Range<usize>| start.is_some_and(|start| range.start >= start);
        match found.ranges.iter().find(|range| below(range)).cloned() {
            Some(range) => found.ranges = vec![range],
            None => {
                return Err(format!(
                    "its lines are in the file {} times; add lines around the place or a line \
                     above it after @@.",
                    found.ranges.len()
                ));
            }
        }
    }
    let replacement = Replacement {
        old: &hunk.old,
        new: &hunk.new,
    };
    replaced(text, &found, replacement)
}

/// Where the line after the hint starts.
fn after_hint(text: &str, hint: &str) -> Option<usize> {
    let mut start = 0;
    let mut like = None;
    for line in text.split_inclusive('\n') {
        let end = start + line.len();
        if line.trim() == hint.trim() {
            return Some(end);
        }
        if like.is_none() && line.contains(hint.trim()) {
            like = Some(end);
        }
        start = end;
    }
    like
}

fn replaced(
    text: &str,
    found: &TextMatches,
    replacement: Replacement<'_>,
) -> Result<String, String> {
    let mut out = String::with_capacity(text.len() + replacement.new.len());
    let mut done = 0;
    for range in &found.ranges {
        let (Some(before), Some(piece)) = (text.get(done..range.start), text.get(range.clone()))
        else {
            continue;
        };
        out.push_str(before);
        let new = replacement.at(text, piece, found.kind)?;
        // Without its own line end the last quoted line was matched without one.
        let kept_end =
            !piece.ends_with('\n') && new.ends_with('\n') && found.kind != MatchKind::Exact;
        out.push_str(if kept_end {
            new.strip_suffix('\n').unwrap_or(&new)
        } else {
            &new
        });
        done = range.end;
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out)
}

fn no_match(path: &str, text: &str, old: &str) -> String {
    match nearest(text, old) {
        Some(lines) => format!(
            "The quoted text is not in {path}. The nearest lines are:\n{lines}\nRead the file and \
             quote it exactly."
        ),
        None => format!(
            "The quoted text is not in {path}, and nothing similar is either. Read the file first."
        ),
    }
}
