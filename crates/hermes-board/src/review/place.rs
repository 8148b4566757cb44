//! Where the work on a card is, and which repository it belongs to. Nothing that lies in the workspace
//! is believed.

use std::path::{Path, PathBuf};

use hermes_proc::{Git, GitError};

use crate::Result;
use crate::boards::Board;
use crate::dispatch::WorkerSetup;
use crate::dispatch::local::helper_git;
use crate::model::{Task, WorkBase, WorkspaceKind};
use crate::repository::Mirror;
use crate::review_error::ReviewError;

/// Small files that git keeps about a worktree.
const POINTER_LIMIT: u64 = 64 * 1024;

/// A repository and its work tree.
pub(super) struct WorkLocation {
    pub(super) git_dir: PathBuf,
    pub(super) top: PathBuf,
    /// The part of the work tree that the card is about, if not all of it.
    pub(super) scope: Option<PathBuf>,
}

/// The worktree of a card whose repository has an address, on this machine, as far as it was pushed or
/// done here.
pub(super) fn checked_out(
    board: &Board,
    task: &Task,
    address: &str,
    setup: &WorkerSetup,
) -> Result<PathBuf> {
    if task.started_at.is_none() {
        return Err(ReviewError::NotStarted {
            id: task.id.clone(),
        }
        .into());
    }
    let mirror = Mirror::of(
        board,
        address,
        helper_git(setup).map_err(ReviewError::from)?,
    )?;
    let target = board.workspace_of(&task.id)?;
    match mirror.fetch() {
        Ok(()) => {}
        // What is here can be looked at all the same.
        Err(error) if mirror.has_worktree(&target) => {
            tracing::warn!(%error, "the repository of a card was not fetched");
            return Ok(target);
        }
        Err(error) => return Err(error.into()),
    }
    Ok(mirror.worktree(&target, &task.work_branch())?.path)
}

/// Where work began, with the repository as this machine has it.
pub(super) fn base_here(
    board: &Board,
    task: &Task,
    base: Option<&WorkBase>,
    setup: &WorkerSetup,
) -> Result<Option<WorkBase>> {
    let (Some(address), Some(base)) = (&task.repository, base) else {
        return Ok(base.cloned());
    };
    Ok(Some(WorkBase {
        repository: Mirror::of(
            board,
            address,
            helper_git(setup).map_err(ReviewError::from)?,
        )?
        .directory(),
        ..base.clone()
    }))
}

/// The path of a card's workspace, which is a directory and no link.
pub(super) fn workspace(task: &Task) -> Result<PathBuf> {
    let id = || task.id.clone();
    let raw = task.workspace_path.as_deref().map(str::trim);
    let path = raw.filter(|raw| !raw.is_empty()).map(PathBuf::from);
    let Some(path) = path.filter(|path| path.is_absolute() && task.started_at.is_some()) else {
        return Err(ReviewError::NotStarted { id: id() }.into());
    };
    match hermes_fs::symlink_metadata(&path) {
        Ok(metadata) if metadata.is_dir() => Ok(path),
        Ok(metadata) if metadata.is_symlink() && task.workspace() == Some(WorkspaceKind::Dir) => {
            Ok(path)
        }
        Ok(metadata) => {
            let problem = if metadata.is_symlink() {
                "is a link now"
            } else {
                "is no directory"
            };
            Err(moved(task, &path, problem).into())
        }
        Err(error) if error.is_not_found() => Err(ReviewError::Gone { id: id(), path }.into()),
        Err(error) => Err(error.into()),
    }
}

fn moved(task: &Task, path: &Path, problem: impl Into<String>) -> ReviewError {
    ReviewError::Moved {
        id: task.id.clone(),
        path: path.to_owned(),
        problem: problem.into(),
    }
}

/// The repository of a worktree: what the worktree points at must point back, and be that in which it
/// was made.
pub(super) fn worktree(task: &Task, path: &Path, base: Option<&WorkBase>) -> Result<WorkLocation> {
    let real = hermes_fs::canonicalize(path)?;
    let unknown = || moved(task, path, "is not a worktree of a repository");
    let pointer = real.join(".git");
    let is_file = hermes_fs::symlink_metadata(&pointer).is_ok_and(|found| found.is_file());
    if !is_file {
        return Err(unknown().into());
    }
    let named = pointed(&pointer)?;
    let named = named.strip_prefix("gitdir:").ok_or_else(unknown)?;
    let git_dir = real.join(named.trim());
    let git_dir = hermes_fs::canonicalize(&git_dir).map_err(|_| unknown())?;
    let common = pointed(&git_dir.join("commondir")).map_err(|_| unknown())?;
    let common = hermes_fs::canonicalize(&git_dir.join(common)).map_err(|_| unknown())?;
    let back = pointed(&git_dir.join("gitdir")).map_err(|_| unknown())?;
    let points_back =
        hermes_fs::canonicalize(&git_dir.join(back)).is_ok_and(|back| back == pointer);
    if !points_back || common.starts_with(&real) || git_dir.starts_with(&real) {
        return Err(unknown().into());
    }
    same_repository(task, path, &common, base)?;
    Ok(WorkLocation {
        git_dir,
        top: real,
        scope: None,
    })
}

/// The repository around a directory that was worked on.
pub(super) fn directory(
    task: &Task,
    path: &Path,
    base: Option<&WorkBase>,
    git: &Git,
) -> Result<WorkLocation> {
    let real = hermes_fs::canonicalize(path)?;
    let ask = |words: [&str; 3]| git.run(&real, words);
    let top = match ask(["rev-parse", "--path-format=absolute", "--show-toplevel"]) {
        Ok(top) => hermes_fs::canonicalize(Path::new(&top))?,
        Err(GitError::Refused { .. }) => {
            let path = path.to_owned();
            return Err(ReviewError::NoRepository { path }.into());
        }
        Err(error) => return Err(ReviewError::from(error).into()),
    };
    let git_dir = ask(["rev-parse", "--path-format=absolute", "--git-dir"]);
    let common = ask(["rev-parse", "--path-format=absolute", "--git-common-dir"]);
    let git_dir = hermes_fs::canonicalize(Path::new(&git_dir.map_err(ReviewError::from)?))?;
    let common = hermes_fs::canonicalize(Path::new(&common.map_err(ReviewError::from)?))?;
    same_repository(task, path, &common, base)?;
    let Ok(inside) = real.strip_prefix(&top) else {
        return Err(moved(
            task,
            path,
            "lies outside of the work tree of its repository",
        )
        .into());
    };
    let scope = Some(inside.to_owned()).filter(|inside| !inside.as_os_str().is_empty());
    Ok(WorkLocation {
        git_dir,
        top,
        scope,
    })
}

fn same_repository(task: &Task, path: &Path, common: &Path, base: Option<&WorkBase>) -> Result<()> {
    match base {
        Some(base) if base.repository != common => {
            let problem = format!(
                "belongs to the repository {} and not to {}",
                common.display(),
                base.repository.display()
            );
            Err(moved(task, path, problem).into())
        }
        _ => Ok(()),
    }
}

/// The text of a file that points somewhere.
fn pointed(path: &Path) -> hermes_fs::Result<String> {
    let text = hermes_fs::read_text_capped(path, POINTER_LIMIT)?;
    Ok(text.trim_end_matches('\n').to_owned())
}
