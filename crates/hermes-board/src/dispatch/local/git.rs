//! What the dispatcher asks git: repositories and their worktrees.

use std::path::{Path, PathBuf};

use hermes_proc::{EnvPlan, EnvRequest, Git, GitError, SpawnClass, WorktreeBranch};

use crate::dispatch::local::WorkerSetup;
use crate::model::WorkBase;

/// Worktrees of repositories.
pub(super) struct Worktrees {
    git: Git,
}

impl Worktrees {
    pub(super) fn new(setup: &WorkerSetup) -> Result<Self, GitError> {
        Ok(Self {
            git: helper_git(setup)?,
        })
    }

    /// Where work in a directory begins: at the commit that is checked out there, or, in a worktree,
    /// where its branch and that of the repository part. `None` if nothing was ever committed.
    pub(super) fn base_of(
        &self,
        repository: &Path,
        directory: &Path,
    ) -> Result<Option<WorkBase>, GitError> {
        let commit = match self
            .git
            .run(directory, ["rev-parse", "--verify", "--quiet", "HEAD"])
        {
            Ok(commit) => commit,
            Err(GitError::Refused { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let commit = if repository == directory {
            commit
        } else {
            let from = self.git.run(repository, ["rev-parse", "--verify", "HEAD"]);
            let parted = from.and_then(|from| {
                let words = ["merge-base", "HEAD", &from];
                self.git.run(directory, words)
            });
            // Histories that have nothing in common part where they are.
            parted.unwrap_or(commit)
        };
        Ok(Some(WorkBase {
            repository: self.common_dir(directory)?,
            commit,
            branch: self.current_branch(repository)?,
        }))
    }

    /// Top of the repository a directory lies in; `None` if it lies in none.
    pub(super) fn top_of(&self, directory: &Path) -> Result<Option<PathBuf>, GitError> {
        if !directory.is_dir() {
            return Ok(None);
        }
        let words = ["rev-parse", "--show-toplevel"];
        match self.git.run(directory, words) {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(canonical(Path::new(&text)))),
            // The second is inside `.git` itself, or a repository without files.
            Err(GitError::Refused { message, .. })
                if message.contains("not a git repository")
                    || message.contains("must be run in a work tree") =>
            {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Where the repository of a directory keeps what all its worktrees share.
    pub(super) fn common_dir(&self, directory: &Path) -> Result<PathBuf, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let text = self.git.run(directory, words)?;
        Ok(canonical(Path::new(&text)))
    }

    /// The main worktree of a linked one, or the repository if it has none.
    pub(super) fn main_of(&self, directory: &Path) -> Result<PathBuf, GitError> {
        let common = self.common_dir(directory)?;
        let main = common.parent().filter(|_| common.ends_with(".git"));
        Ok(main.unwrap_or(&common).to_owned())
    }

    /// Whether a directory is a worktree beside the main one.
    pub(super) fn is_linked_worktree(&self, directory: &Path) -> Result<bool, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--git-dir"];
        let own = self.git.run(directory, words)?;
        Ok(canonical(Path::new(&own)) != self.common_dir(directory)?)
    }

    /// The branch that is checked out in a directory.
    pub(super) fn current_branch(&self, directory: &Path) -> Result<Option<String>, GitError> {
        let text = self.git.run(directory, ["branch", "--show-current"])?;
        Ok((!text.is_empty()).then_some(text))
    }

    fn has_branch(&self, repository: &Path, branch: &str) -> Result<bool, GitError> {
        let reference = format!("refs/heads/{branch}");
        let words = ["show-ref", "--verify", "--quiet", &reference];
        match self.git.run(repository, words) {
            Ok(_) => Ok(true),
            Err(GitError::Refused { .. }) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Makes a worktree on a branch, which is made from HEAD if there is none of that name.
    pub(super) fn add_worktree(
        &self,
        repository: &Path,
        target: &Path,
        branch: &str,
    ) -> Result<(), GitError> {
        // A worktree that somebody deleted by hand is still on the books and would be refused.
        self.git.run(repository, ["worktree", "prune"])?;
        let branch = if self.has_branch(repository, branch)? {
            WorktreeBranch::Existing(branch)
        } else {
            WorktreeBranch::New(branch)
        };
        self.git.add_worktree(repository, target, branch)
    }
}

fn canonical(path: &Path) -> PathBuf {
    hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Git, for the dispatcher's own questions.
pub(crate) fn helper_git(setup: &WorkerSetup) -> Result<Git, GitError> {
    let request = EnvRequest::new(SpawnClass::Helper, &setup.base, &setup.policy);
    Git::find(EnvPlan::build(&request))
}
