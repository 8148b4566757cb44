//! Deliverables in scratch workspaces, copied before the workspace is removed.

use std::ffi::OsStr;
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::boards::{BoardHome, ManagedScratch};
use crate::files::{ATTACHMENT_LIMIT, safe_name};
use crate::model::{Task, TaskId, WorkspaceKind};
use crate::store::{Completion, NewAttachment};
use crate::{Error, Result};
use hermes_fs::resolved;

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
                tracing::warn!(%error, "could not remove a copy made for a completion that failed");
            }
        }
    }
}

/// Whether the completion could name a file of the card's workspace: it lists deliverables, or its
/// texts hold a path.
pub(super) fn may_name_files(completion: &Completion) -> bool {
    let texts = [completion.summary.as_deref(), completion.result.as_deref()];
    let has_path = texts.into_iter().flatten().any(|text| text.contains('/'));
    has_path || !completion.artifacts().is_empty()
}

/// Copies the deliverables in the card's scratch workspace, and returns the completion with the
/// copies in their place. Without such a workspace nothing changes.
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
    let mut artifacts = completion.artifacts();
    for named in files_mentioned(&completion, &written, Path::new(&written)) {
        if !artifacts.contains(&named) {
            artifacts.push(named);
        }
    }
    if artifacts.is_empty() {
        return Ok((completion, kept));
    }
    let directory = scratch.attachments.join(
        task.id
            .as_file_name()
            .ok_or_else(|| Error::unsafe_task_id(&task.id))?,
    );
    for artifact in &mut artifacts {
        let path = scratch.path.join(home.expand(Path::new(artifact.as_str())));
        let source = resolved(&path);
        // Files outside are not removed with the workspace.
        let Ok(relative) = source.strip_prefix(&scratch.path) else {
            continue;
        };
        let workspace = scratch.open();
        let opened = workspace.and_then(|workspace| workspace.open_file(relative));
        let attachment = keep_one(&task.id, &source, opened, &directory, &mut kept)?;
        *artifact = attachment.stored_path.to_string_lossy().into_owned();
        completion.attachments.push(attachment);
    }
    set_artifacts(&mut completion, artifacts);
    Ok((completion, kept))
}

/// The card's scratch workspace if it is managed by the board, and the path as written on the card.
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

/// Replaces the paths of deliverables as the worker sees them, below `seen`, by those of this
/// machine, below `workspace`.
pub(super) fn use_host_paths(completion: &mut Completion, seen: &Path, workspace: &Path) {
    let on_host = |path: &str| {
        let below = Path::new(path.trim()).strip_prefix(seen).ok()?;
        let climbs = below.components().any(|part| part == Component::ParentDir);
        (!climbs).then(|| workspace.join(below).to_string_lossy().into_owned())
    };
    let mut artifacts = completion.artifacts();
    for artifact in &mut artifacts {
        if let Some(path) = on_host(artifact) {
            *artifact = path;
        }
    }
    for path in files_mentioned(completion, &seen.to_string_lossy(), workspace) {
        if !artifacts.contains(&path) {
            artifacts.push(path);
        }
    }
    if !artifacts.is_empty() {
        set_artifacts(completion, artifacts);
    }
}

fn set_artifacts(completion: &mut Completion, artifacts: Vec<String>) {
    let metadata = completion.metadata.get_or_insert_default();
    metadata.insert("artifacts".to_owned(), Value::from(artifacts));
}

/// Existing files of a workspace that summary and result name in full, each once, as paths of this
/// machine. `called` is the path of the workspace in these texts.
fn files_mentioned(completion: &Completion, called: &str, workspace: &Path) -> Vec<String> {
    let texts = [completion.summary.as_deref(), completion.result.as_deref()];
    let mut found = Vec::new();
    for text in texts.into_iter().flatten() {
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
    opened: hermes_fs::Result<(File, std::fs::Metadata)>,
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
    // From here on the file that was opened counts, not whatever has its name by now.
    let (opened, meta) =
        opened.map_err(|_| refuse("is missing or not a regular file".to_owned()))?;
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
        let copy = opened.try_clone();
        let copy = copy.map_err(|error| refuse(format!("could not be kept: {error}")))?;
        // Never more than may be kept, should it grow meanwhile.
        match hermes_fs::copy_opened(copy, source, &target, 0o600) {
            Ok(size) => {
                kept.copies.push(target.clone());
                // The file may have grown meanwhile.
                if size > ATTACHMENT_LIMIT {
                    return Err(too_large());
                }
                return Ok(NewAttachment {
                    filename: file_name(&target),
                    stored_path: resolved(&target),
                    content_type: None,
                    size,
                    uploaded_by: Some(UPLOADER.to_owned()),
                    content: None,
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
