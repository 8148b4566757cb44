//! Removing scratch workspaces and the files of cards that are gone.

use std::path::{Path, PathBuf};

use crate::Result;
use crate::boards::{Board, BoardHome};
use crate::model::TaskId;

/// What became of a workspace.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Cleaned {
    Removed(PathBuf),
    Absent,
    /// It is outside the directories of boards.
    Foreign(PathBuf),
    /// It could not be removed; garbage collection will find it.
    Failed(PathBuf, String),
}

/// Removes scratch workspaces that are no longer needed. Only directories strictly below a root of
/// scratch workspaces are removed; a directory of the user that a card calls scratch is kept.
pub fn remove_finished_workspaces(
    home: &BoardHome,
    finished: &[(TaskId, PathBuf)],
) -> Vec<(TaskId, Cleaned)> {
    finished
        .iter()
        .map(|(task, path)| (task.clone(), remove(home, task, &home.expand(path))))
        .collect()
}

fn remove(home: &BoardHome, task: &TaskId, path: &Path) -> Cleaned {
    if !path.is_dir() {
        return Cleaned::Absent;
    }
    let Some(scratch) = home.managed_scratch(path) else {
        tracing::warn!(
            %task,
            path = %path.display(),
            "kept a scratch workspace outside the board"
        );
        return Cleaned::Foreign(path.to_owned());
    };
    match hermes_fs::remove_tree(&scratch.path) {
        Ok(()) => Cleaned::Removed(scratch.path),
        Err(error) => {
            tracing::warn!(%task, %error, "could not remove a scratch workspace");
            Cleaned::Failed(scratch.path, error.to_string())
        }
    }
}

/// Removes the files of a card that was deleted: attachments, logs, exit record. Its workspace goes
/// only if it is a scratch workspace of this board.
pub fn discard_card_files(board: &Board, task: &TaskId) -> Result<()> {
    hermes_fs::remove_tree(&board.attachments_of(task)?)?;
    hermes_fs::remove_tree(&board.workspace_of(task)?)?;
    hermes_fs::remove_file_if_present(&board.exit_record_of(task)?)?;
    let log = board.log_of(task)?;
    let Some(name) = log.file_name().and_then(|name| name.to_str()) else {
        return Ok(());
    };
    let entries = match hermes_fs::read_dir(&board.logs) {
        Ok(entries) => entries,
        Err(error) if error.is_not_found() => return Ok(()),
        Err(error) => return Err(error.into()),
    };
    for entry in entries {
        let rotated = entry
            .name
            .to_str()
            .and_then(|other| other.strip_prefix(name))
            .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'));
        if rotated {
            hermes_fs::remove_file_if_present(&entry.path)?;
        }
    }
    Ok(())
}
