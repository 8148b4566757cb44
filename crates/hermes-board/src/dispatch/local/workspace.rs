//! Where a card is worked on: a directory of its own, one that the user named, or a git worktree.

use std::path::{Path, PathBuf};

use hermes_proc::GitError;

use crate::WorkspaceRefusal;
use crate::dispatch::local::LocalWorkerHost;
use crate::dispatch::local::arrival::{FRESH, arrive, begin};
use crate::dispatch::local::git::{Worktrees, helper_git};
use crate::model::{Task, WorkBase, WorkspaceKind};
use crate::repository::Mirror;
use crate::repository_error::RepositoryError;
use crate::store::ResolvedWorkspace;

/// Directory of worktrees inside a repository.
const WORKTREES: &str = ".worktrees";

/// Why there is no directory to work in.
#[derive(Debug, thiserror::Error)]
pub(super) enum WorkspaceError {
    #[error(transparent)]
    Board(#[from] crate::Error),
    #[error(transparent)]
    File(#[from] hermes_fs::Error),
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{0}; {hint}", hint = .0.hint())]
    Refused(#[from] WorkspaceRefusal),
    #[error("{0}{hint}", hint = hint_of(.0))]
    Repository(#[from] RepositoryError),
    #[error("the path '{}' is not absolute", crate::shown(path, 200))]
    Relative { path: String },
    #[error("a card with the workspace 'dir' needs a path")]
    NoDirectory,
    #[error(
        "a worktree needs a repository: create the card with --workspace worktree:/path, or set \
         one for the board with `hermes kanban boards set-default-workdir`"
    )]
    NoRepository,
    #[error("{} is not inside a git repository", path.display())]
    OutsideRepository { path: PathBuf },
    #[error("invalid branch name: '{}'", crate::shown(branch, 100))]
    BadBranch { branch: String },
    #[error("unknown kind of workspace: '{}'", crate::shown(kind, 40))]
    UnknownKind { kind: String },
}

fn hint_of(error: &RepositoryError) -> String {
    error
        .hint()
        .map_or_else(String::new, |hint| format!("; {hint}"))
}

impl LocalWorkerHost<'_> {
    /// Makes the directory of a card.
    pub(super) fn resolve_workspace(
        &self,
        task: &Task,
    ) -> Result<ResolvedWorkspace, WorkspaceError> {
        let travels = self.board.server.is_some()
            && (task.repository.is_some() || task.workspace() == Some(WorkspaceKind::Scratch));
        if travels {
            arrive(self.board, task)?;
        }
        let workspace = self.workspace_of(task)?;
        if travels {
            begin(self.board, task)?;
        }
        Ok(workspace)
    }

    fn workspace_of(&self, task: &Task) -> Result<ResolvedWorkspace, WorkspaceError> {
        match task.workspace() {
            Some(WorkspaceKind::Scratch) => {
                // The path on the card may be that of another machine.
                let stored = self.stored(task)?;
                let path = match stored.filter(|_| self.board.server.is_none()) {
                    Some(path) => path,
                    None => self.board.workspace_of(&task.id)?,
                };
                self.directory(task, &path)
            }
            Some(WorkspaceKind::Worktree) if task.repository.is_some() => self.cloned(task),
            Some(WorkspaceKind::Dir) => {
                let path = self.stored(task)?.ok_or(WorkspaceError::NoDirectory)?;
                let workspace = self.directory(task, &path)?;
                Ok(ResolvedWorkspace {
                    base: self.directory_base(&workspace.path),
                    ..workspace
                })
            }
            Some(WorkspaceKind::Worktree) => {
                if let Some(requested) = self.stored(task)? {
                    self.setup.workspaces.check_for(task, &requested)?;
                }
                let workspace = self.worktree(task)?;
                Ok(ResolvedWorkspace {
                    path: self.setup.workspaces.check_for(task, &workspace.path)?,
                    ..workspace
                })
            }
            None => Err(WorkspaceError::UnknownKind {
                kind: task.workspace_kind.clone(),
            }),
        }
    }

    /// Makes a directory, if it may be a workspace before and after that.
    fn directory(&self, task: &Task, path: &Path) -> Result<ResolvedWorkspace, WorkspaceError> {
        let rules = &self.setup.workspaces;
        let path = rules.check_for(task, path)?;
        hermes_fs::create_dir_all(&path, 0o700)?;
        Ok(ResolvedWorkspace {
            path: rules.check_for(task, &path)?,
            branch: None,
            base: None,
        })
    }

    /// Where work in a directory begins, if that lies in a repository. Without git the work begins all
    /// the same.
    fn directory_base(&self, path: &Path) -> Option<WorkBase> {
        let git = Worktrees::new(self.setup).ok()?;
        git.top_of(path).ok().flatten()?;
        git.base_of(path, path).ok().flatten()
    }

    /// The path that stands on the card.
    fn stored(&self, task: &Task) -> Result<Option<PathBuf>, WorkspaceError> {
        let raw = task.workspace_path.as_deref().map(str::trim);
        let raw = raw.filter(|raw| !raw.is_empty());
        raw.map(|raw| self.absolute(raw)).transpose()
    }

    fn absolute(&self, raw: &str) -> Result<PathBuf, WorkspaceError> {
        let path = self.home.expand(Path::new(raw));
        if path.is_absolute() {
            Ok(path)
        } else {
            Err(WorkspaceError::Relative {
                path: raw.to_owned(),
            })
        }
    }

    /// The worktree of a card whose repository has an address.
    fn cloned(&self, task: &Task) -> Result<ResolvedWorkspace, WorkspaceError> {
        let address = task.repository.as_deref().unwrap_or_default();
        let mirror = Mirror::of(self.board, address, helper_git(self.setup)?)?;
        let branch = valid_branch(task)?;
        let target = self.board.workspace_of(&task.id)?;
        let target = self.setup.workspaces.check_for(task, &target)?;
        if mirror.age().is_none_or(|age| age >= FRESH) {
            mirror.fetch()?;
        }
        Ok(mirror.worktree(&target, &branch)?)
    }

    fn worktree(&self, task: &Task) -> Result<ResolvedWorkspace, WorkspaceError> {
        let git = Worktrees::new(self.setup)?;
        let branch = valid_branch(task)?;
        let Some(requested) = self.stored(task)? else {
            let info = self.home.info(&self.board.slug);
            let anchor = info.default_workdir.filter(|raw| !raw.trim().is_empty());
            let anchor = self.absolute(&anchor.ok_or(WorkspaceError::NoRepository)?)?;
            let repository = git
                .top_of(&anchor)?
                .ok_or(WorkspaceError::OutsideRepository { path: anchor })?;
            let target = self.worktree_in(&repository, task)?;
            return make(&git, &repository, target, branch);
        };
        if requested.is_dir() {
            let top = git.top_of(&requested)?;
            let is_top = top.is_some() && hermes_fs::canonicalize(&requested).ok() == top;
            if let Some(repository) = top.filter(|_| is_top) {
                if git.is_linked_worktree(&requested)? {
                    // Whatever is checked out there is what the next worker finds.
                    let branch = git.current_branch(&requested)?.unwrap_or(branch);
                    return Ok(ResolvedWorkspace {
                        base: git.base_of(&git.main_of(&requested)?, &requested)?,
                        path: requested,
                        branch: Some(branch),
                    });
                }
                let target = self.worktree_in(&repository, task)?;
                return make(&git, &repository, target, branch);
            }
        }
        let repository = nearest_repository(&git, &requested)?;
        make(&git, &repository, requested, branch)
    }

    fn worktree_in(&self, repository: &Path, task: &Task) -> Result<PathBuf, WorkspaceError> {
        // The name of a scratch directory is the card's, checked to be harmless.
        let scratch = self.board.workspace_of(&task.id)?;
        let name = scratch.file_name().unwrap_or_default();
        Ok(repository.join(WORKTREES).join(name))
    }
}

fn valid_branch(task: &Task) -> Result<String, WorkspaceError> {
    let branch = task.work_branch();
    // Git checks names itself; what it would take for an option never gets there.
    if branch.starts_with('-') || branch.contains(char::is_control) {
        return Err(WorkspaceError::BadBranch { branch });
    }
    Ok(branch)
}

/// Makes a worktree, or takes the one that is there from an earlier attempt.
fn make(
    git: &Worktrees,
    repository: &Path,
    target: PathBuf,
    branch: String,
) -> Result<ResolvedWorkspace, WorkspaceError> {
    let mut branch = branch;
    let is_there = target.is_dir() && git.top_of(&target)? == hermes_fs::canonicalize(&target).ok();
    if is_there && git.common_dir(&target)? == git.common_dir(repository)? {
        branch = git.current_branch(&target)?.unwrap_or(branch);
    } else {
        if let Some(parent) = target.parent() {
            hermes_fs::create_dir_all(parent, 0o755)?;
        }
        git.add_worktree(repository, &target, &branch)?;
    }
    Ok(ResolvedWorkspace {
        base: git.base_of(repository, &target)?,
        path: target,
        branch: Some(branch),
    })
}

/// The repository around a path of which only the beginning need exist.
fn nearest_repository(git: &Worktrees, path: &Path) -> Result<PathBuf, WorkspaceError> {
    let existing = path.ancestors().skip(1).find(|one| one.is_dir());
    let found = match existing {
        Some(directory) => git.top_of(directory)?,
        None => None,
    };
    found.ok_or_else(|| WorkspaceError::OutsideRepository {
        path: path.to_owned(),
    })
}
