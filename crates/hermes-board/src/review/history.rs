//! Commits: which one is checked out, and which one the work began at.

use hermes_proc::{GitError, GitLimits};

use crate::Result;
use crate::model::{WorkBase, WorkspaceKind};
use crate::review::ReviewedWork;
use crate::review::diff::{DiffBase, Origin};
use crate::review_error::ReviewError;

impl ReviewedWork {
    /// A commit by a name; `None` if there is none.
    pub(super) fn commit(&self, name: &str) -> Result<Option<String>> {
        let object = format!("{name}^{{commit}}");
        let words = [
            "rev-parse",
            "--verify",
            "--quiet",
            "--end-of-options",
            &object,
        ];
        match self.git.run(&self.top, words) {
            Ok(id) if !id.is_empty() => Ok(Some(id)),
            Ok(_) | Err(GitError::Refused { .. }) => Ok(None),
            Err(error) => Err(ReviewError::from(error).into()),
        }
    }

    pub(super) fn current_branch(&self) -> Result<Option<String>> {
        let name = self.git.run(&self.top, ["branch", "--show-current"]);
        let name = name.map_err(ReviewError::from)?;
        Ok(Some(name).filter(|name| !name.is_empty()))
    }

    /// Whether one commit leads to another.
    pub(super) fn leads_to(&self, from: &str, to: &str) -> Result<bool> {
        let words = ["merge-base", "--is-ancestor", from, to];
        let limits = GitLimits::default();
        let answer = self
            .git
            .run_accepting(&[0, 1], &self.top, words, b"", limits);
        Ok(answer.map_err(ReviewError::from)?.code == 0)
    }

    pub(super) fn empty_tree(&self) -> Result<String> {
        let words = ["hash-object", "-t", "tree", "/dev/null"];
        let found = self.git.run(&self.top, words);
        Ok(found.map_err(ReviewError::from)?)
    }

    pub(super) fn find_base(&self, recorded: Option<&WorkBase>) -> Result<DiffBase> {
        let branch = recorded.and_then(|base| base.branch.clone());
        let Some(head) = &self.head else {
            return Ok(DiffBase {
                commit: self.empty_tree()?,
                branch,
                origin: Origin::Nothing,
            });
        };
        if let Some(base) = recorded
            && let Some(commit) = self.commit(&base.commit)?
            && (self.kind == WorkspaceKind::Dir || self.leads_to(&commit, head)?)
        {
            return Ok(DiffBase {
                commit,
                branch,
                origin: Origin::Recorded,
            });
        }
        if self.kind == WorkspaceKind::Worktree {
            // It began before this was recorded, or was rebased since.
            let from = branch.as_ref().map(|branch| format!("refs/heads/{branch}"));
            let from = from.unwrap_or_else(|| "main-worktree/HEAD".to_owned());
            let found = self.git.run(&self.top, ["merge-base", head, &from]);
            if let Ok(commit) = found {
                return Ok(DiffBase {
                    commit,
                    branch,
                    origin: Origin::MergeBase,
                });
            }
        }
        Ok(DiffBase {
            commit: head.clone(),
            branch,
            origin: Origin::Head,
        })
    }
}
