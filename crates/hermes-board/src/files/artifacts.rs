//! Deliverables of scratch workspaces, kept before the workspace goes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::boards::{BoardHome, ManagedScratch, resolved};
use crate::files::attach::{ATTACHMENT_LIMIT, safe_name};
use crate::model::{Task, TaskId, WorkspaceKind};
use crate::store::{Completion, NewAttachment};
use crate::{Error, Result};

/// Who attaches deliverables.
const UPLOADER: &str = "kanban_complete";

/// Copies that were made for a completion. Dropped without [`Kept::keep`], they are removed: the
/// completion did not happen.
#[derive(Debug, Default)]
pub(super) struct Kept {
    copies: Vec<PathBuf>,
}

impl Kept {
    /// The completion happened; the copies belong to the card.
    pub(super) fn keep(mut self) {
        self.copies.clear();
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        for copy in &self.copies {
            if let Err(error) = hermes_fs::remove_file_if_present(copy) {
                tracing::warn!(%error, "a copy for a completion that failed stays behind");
            }
        }
    }
}

/// Copies the deliverables that lie in the card's scratch workspace, and gives the completion with
/// the copies in their place. Without such a workspace nothing changes.
pub(super) fn keep_artifacts(
    home: &BoardHome,
    task: &Task,
    completion: &Completion,
) -> Result<(Completion, Kept)> {
    let mut completion = completion.clone();
    let mut kept = Kept::default();
    let Some((scratch, written)) = scratch_of(home, task) else {
        return Ok((completion, kept));
    };
    let mut artifacts = declared(&completion);
    let texts = [completion.summary.as_deref(), completion.result.as_deref()];
    for named in files_mentioned(texts.into_iter().flatten(), &written, Path::new(&written)) {
        if !artifacts.contains(&named) {
            artifacts.push(named);
        }
    }
    if artifacts.is_empty() {
        return Ok((completion, kept));
    }
    let directory = scratch
        .attachments
        .join(task.id.as_file_name().ok_or_else(|| Error::UnsafeTaskId {
            shown: crate::shown(task.id.as_str(), 64),
        })?);
    for artifact in &mut artifacts {
        let path = scratch.path.join(home.expand(Path::new(artifact.as_str())));
        let source = resolved(&path);
        // What lies elsewhere does not go away with the workspace.
        if !source.starts_with(&scratch.path) {
            continue;
        }
        let attachment = keep_one(&task.id, &source, &directory, &mut kept)?;
        *artifact = attachment.stored_path.to_string_lossy().into_owned();
        completion.attachments.push(attachment);
    }
    completion
        .metadata
        .get_or_insert_default()
        .insert("artifacts".to_owned(), Value::from(artifacts));
    Ok((completion, kept))
}

/// The card's scratch workspace if it is one of ours, and the path as it stands in the card.
fn scratch_of(home: &BoardHome, task: &Task) -> Option<(ManagedScratch, String)> {
    if task.workspace() != Some(WorkspaceKind::Scratch) {
        return None;
    }
    let written = task
        .workspace_path
        .clone()
        .filter(|path| !path.is_empty())?;
    let scratch = home.managed_scratch(&home.expand(Path::new(&written)))?;
    Some((scratch, written))
}

fn declared(completion: &Completion) -> Vec<String> {
    let list = completion
        .metadata
        .as_ref()
        .and_then(|metadata| metadata.get("artifacts"));
    let Some(Value::Array(items)) = list else {
        return Vec::new();
    };
    items
        .iter()
        .filter_map(Value::as_str)
        .map(|path| path.trim().to_owned())
        .filter(|path| !path.is_empty())
        .collect()
}

/// Existing files below a workspace that texts name in full, each once, as paths of this machine.
/// The texts call the workspace `called`.
pub fn files_mentioned<'t>(
    texts: impl Iterator<Item = &'t str>,
    called: &str,
    workspace: &Path,
) -> Vec<String> {
    let mut found = Vec::new();
    for text in texts {
        for (start, _) in text.match_indices(called) {
            let Some(rest) = text.get(start + called.len()..) else {
                continue;
            };
            if !rest.starts_with('/') {
                continue;
            }
            let end = rest
                .find(|char: char| char.is_whitespace() || "`\"'<>".contains(char))
                .unwrap_or(rest.len());
            let below = rest.get(..end).unwrap_or_default();
            let below = below.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '}']);
            let path = format!("{}{below}", workspace.display());
            if Path::new(&path).is_file() && !found.contains(&path) {
                found.push(path);
            }
        }
    }
    found
}

fn keep_one(
    task: &TaskId,
    source: &Path,
    directory: &Path,
    kept: &mut Kept,
) -> Result<NewAttachment> {
    let refuse = |problem: String| Error::Artifact {
        id: task.clone(),
        path: source.to_owned(),
        problem,
    };
    let too_large = || {
        refuse(format!(
            "has more than {} MiB",
            ATTACHMENT_LIMIT / (1024 * 1024)
        ))
    };
    let meta = hermes_fs::metadata(source)
        .ok()
        .filter(std::fs::Metadata::is_file)
        .ok_or_else(|| refuse("is missing or not a regular file".to_owned()))?;
    if meta.len() > ATTACHMENT_LIMIT {
        return Err(too_large());
    }
    hermes_fs::create_dir_all(directory, 0o700)?;
    let name = source
        .file_name()
        .and_then(OsStr::to_str)
        .and_then(|name| safe_name(name).ok())
        .unwrap_or_else(|| "artifact".to_owned());
    for number in 0_u32.. {
        let target = directory.join(numbered(&name, number));
        match hermes_fs::copy_file(source, &target, 0o600) {
            Ok(size) => {
                kept.copies.push(target.clone());
                // It may have grown since it was looked at.
                if size > ATTACHMENT_LIMIT {
                    return Err(too_large());
                }
                return Ok(NewAttachment {
                    filename: file_name(&target),
                    stored_path: resolved(&target),
                    content_type: None,
                    size,
                    uploaded_by: Some(UPLOADER.to_owned()),
                });
            }
            Err(hermes_fs::Error::AlreadyExists { .. }) => {}
            Err(error) => return Err(refuse(format!("could not be kept: {error}"))),
        }
    }
    Err(refuse("could not be given a name".to_owned()))
}

fn numbered(name: &str, number: u32) -> String {
    if number == 0 {
        return name.to_owned();
    }
    let path = Path::new(name);
    let stem = path.file_stem().and_then(OsStr::to_str).unwrap_or(name);
    match path.extension().and_then(OsStr::to_str) {
        Some(extension) => format!("{stem}_{number}.{extension}"),
        None => format!("{stem}_{number}"),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name()
        .map(|name| name.to_string_lossy().into_owned())
        .unwrap_or_default()
}
