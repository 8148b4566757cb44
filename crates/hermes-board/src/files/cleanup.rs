//! Removing scratch workspaces and the files of cards that are gone.

use std::path::PathBuf;

use crate::Result;
use crate::boards::{Board, BoardHome, entries};
use crate::model::TaskId;

/// Removes scratch workspaces that are no longer needed; returns how many. Only directories strictly
/// below a root of scratch workspaces are removed; a directory of the user that a card calls scratch
/// is kept, and what cannot be removed is left to garbage collection.
pub(crate) fn remove_finished_workspaces(
    home: &BoardHome,
    finished: &[(TaskId, PathBuf)],
) -> usize {
    let mut removed = 0;
    for (task, path) in finished {
        let path = home.expand(path);
        if !path.is_dir() {
            continue;
        }
        let Some(scratch) = home.managed_scratch(&path) else {
            let path = path.display();
            tracing::warn!(%task, %path, "kept a scratch workspace outside the board");
            continue;
        };
        match scratch.remove() {
            Ok(()) => removed += 1,
            Err(error) => tracing::warn!(%task, %error, "could not remove a scratch workspace"),
        }
    }
    removed
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
    for entry in entries(&board.logs)? {
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
