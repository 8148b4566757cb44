//! The few git commands for worktrees. The message of git is passed on when it fails.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{ChildSpec, EnvPlan, EnvRequest, SpawnClass, find_on_path};

use crate::dispatch::local::WorkerSetup;

/// How long git may take.
const LIMIT: Duration = Duration::from_mins(1);
/// Bytes of its answers that are read.
const ANSWER: usize = 64 * 1024;

/// Why git did not do it.
#[derive(Debug, thiserror::Error)]
pub(super) enum GitError {
    #[error("git is not installed")]
    Missing,
    #[error(transparent)]
    Process(#[from] hermes_proc::Error),
    #[error("git {step}: {said}")]
    Refused { step: &'static str, said: String },
}

/// The program, ready to run.
pub(super) struct Git {
    program: PathBuf,
    env: EnvPlan,
}

impl Git {
    pub(super) fn find(setup: &WorkerSetup) -> Result<Self, GitError> {
        let request = EnvRequest::new(SpawnClass::Helper, &setup.base, &setup.policy);
        // What a hook or another git around us exported is not about this repository.
        let env = EnvPlan::build(&request)
            .without("GIT_DIR")
            .without("GIT_WORK_TREE")
            .without("GIT_INDEX_FILE")
            .without("GIT_COMMON_DIR")
            .without("GIT_PREFIX")
            .with("GIT_TERMINAL_PROMPT", "0")
            .with("LC_ALL", "C");
        let program = find_on_path(OsStr::new("git"), env.get("PATH")).ok_or(GitError::Missing)?;
        Ok(Self { program, env })
    }

    /// Top of the repository a directory lies in; `None` if it lies in none.
    pub(super) fn top_of(&self, directory: &Path) -> Result<Option<PathBuf>, GitError> {
        if !directory.is_dir() {
            return Ok(None);
        }
        let words = ["rev-parse", "--show-toplevel"];
        match self.ask(directory, "rev-parse", words) {
            Ok(text) if text.is_empty() => Ok(None),
            Ok(text) => Ok(Some(canonical(Path::new(&text)))),
            Err(GitError::Refused { said, .. }) if said.contains("not a git repository") => {
                Ok(None)
            }
            // Inside `.git` itself, or a repository without files.
            Err(GitError::Refused { said, .. }) if said.contains("must be run in a work tree") => {
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Where the repository of a directory keeps what all its worktrees share.
    pub(super) fn common_dir(&self, directory: &Path) -> Result<PathBuf, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--git-common-dir"];
        let text = self.ask(directory, "rev-parse", words)?;
        Ok(canonical(Path::new(&text)))
    }

    /// Whether a directory is a worktree beside the main one.
    pub(super) fn is_linked_worktree(&self, directory: &Path) -> Result<bool, GitError> {
        let words = ["rev-parse", "--path-format=absolute", "--git-dir"];
        let own = self.ask(directory, "rev-parse", words)?;
        Ok(canonical(Path::new(&own)) != self.common_dir(directory)?)
    }

    /// The branch that is checked out in a directory.
    pub(super) fn current_branch(&self, directory: &Path) -> Result<Option<String>, GitError> {
        let text = self.ask(directory, "branch", ["branch", "--show-current"])?;
        Ok((!text.is_empty()).then_some(text))
    }

    fn has_branch(&self, repository: &Path, branch: &str) -> Result<bool, GitError> {
        let reference = format!("refs/heads/{branch}");
        let words = ["show-ref", "--verify", "--quiet", &reference];
        match self.ask(repository, "show-ref", words) {
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
        self.ask(repository, "worktree prune", ["worktree", "prune"])?;
        let mut words: Vec<OsString> = vec!["worktree".into(), "add".into()];
        if self.has_branch(repository, branch)? {
            words.extend([target.into(), branch.into()]);
        } else {
            words.extend(["-b".into(), branch.into(), target.into(), "HEAD".into()]);
        }
        self.ask(repository, "worktree add", words).map(drop)
    }

    fn ask<W: Into<OsString>>(
        &self,
        directory: &Path,
        step: &'static str,
        words: impl IntoIterator<Item = W>,
    ) -> Result<String, GitError> {
        let mut args: Vec<OsString> = vec!["-C".into(), directory.into()];
        args.extend(words.into_iter().map(Into::into));
        let spec = ChildSpec::new(&self.program, args, &self.env);
        let answer = spec.run_captured(LIMIT, ANSWER)?;
        if answer.status.success() {
            let text = String::from_utf8_lossy(&answer.stdout);
            return Ok(text.trim_end_matches('\n').to_owned());
        }
        let said = String::from_utf8_lossy(&answer.stderr);
        Err(GitError::Refused {
            step,
            said: crate::shown(said.trim(), 300),
        })
    }
}

fn canonical(path: &Path) -> PathBuf {
    hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}
