//! What becomes of approved work: its branch is merged or pushed.
//!
//! A merge is made beside the branch it goes to, as a commit, and only then does that branch move to
//! it in one step: what conflicts, or a branch that moved meanwhile, leaves everything as it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{GitError, GitLimits};
use serde::Serialize;

use crate::model::{OnApprove, WorkspaceKind};
use crate::repository_error::RepositoryError;
use crate::review::ReviewedWork;
use crate::review_error::ReviewError;
use crate::{Error, Result};

/// Time of a merge, and of a push over a slow line.
const TIMEOUT: Duration = Duration::from_mins(10);
pub(super) const LIMITS: GitLimits = GitLimits {
    timeout: TIMEOUT,
    max_output: 4 * 1024 * 1024,
};
/// Conflicting files that are named.
const NAMED: usize = 5;

/// What was done with approved work.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "action", rename_all = "lowercase")]
pub enum Landed {
    /// It stays where it is.
    #[serde(rename = "none")]
    Kept,
    #[serde(rename = "merge")]
    Merged {
        branch: String,
        commit: String,
        /// The branch had nothing that the work lacks.
        fast_forward: bool,
        /// It had been merged before.
        already: bool,
    },
    #[serde(rename = "push")]
    Pushed {
        remote: String,
        branch: String,
        commit: String,
    },
}

/// Where a branch is checked out.
struct CheckedOut {
    path: PathBuf,
    branch: String,
}

impl ReviewedWork {
    /// Commits what is not committed, on the card's own branch, and refuses what could not be merged or
    /// pushed, as far as that shows without doing it. Gives the commit to merge or push.
    pub(super) fn prepare(&self, action: &OnApprove) -> Result<Option<String>> {
        match action {
            OnApprove::Keep => Ok(None),
            OnApprove::Merge => {
                if let Some(address) = self.task.repository.clone() {
                    return Err(RepositoryError::MergedThere { address }.into());
                }
                self.own_branch("merged")?;
                let target = self.target()?;
                self.must_be_clean(&target, &self.checked_out()?)?;
                let (onto, tip) = (self.tip(&target)?, self.commit_rest("merged")?);
                if !self.leads_to(&tip, &onto)? && !self.leads_to(&onto, &tip)? {
                    self.merged_tree(&target, &onto, &tip)?;
                }
                Ok(Some(tip))
            }
            OnApprove::Push(remote) => {
                self.own_branch("pushed")?;
                self.remote(remote.as_deref())?;
                self.commit_rest("pushed").map(Some)
            }
        }
    }

    /// Merges or pushes a commit that was prepared. What came into being since, such as what checks
    /// leave behind, is not part of it.
    pub(super) fn land(&self, action: &OnApprove, tip: Option<&str>) -> Result<Landed> {
        let Some(tip) = tip else {
            return Ok(Landed::Kept);
        };
        let own = self.branch.as_deref().unwrap_or_default();
        if self.commit(&format!("refs/heads/{own}"))?.as_deref() != Some(tip) {
            let id = self.task.id.clone();
            return Err(ReviewError::ChangedSince { id }.into());
        }
        match action {
            OnApprove::Keep => Ok(Landed::Kept),
            OnApprove::Merge => self.merge(tip),
            OnApprove::Push(remote) => self.push(remote.as_deref(), tip),
        }
    }

    pub(super) fn cannot(
        &self,
        action: &'static str,
        problem: impl Into<String>,
        hint: impl Into<String>,
    ) -> Error {
        ReviewError::CannotLand {
            id: self.task.id.clone(),
            action,
            problem: problem.into(),
            hint: hint.into(),
        }
        .into()
    }

    /// The branch of the card, which must be checked out in its worktree.
    pub(super) fn own_branch(&self, action: &'static str) -> Result<&str> {
        if self.kind != WorkspaceKind::Worktree {
            return Err(self.cannot(
                action,
                "it was not done on a branch of its own",
                "approve with --no-merge, and commit it yourself",
            ));
        }
        let wanted = self.task.branch_name.as_deref().unwrap_or_default();
        match self.branch.as_deref() {
            Some(branch) if branch == wanted => Ok(branch),
            other => {
                let now = match other {
                    Some(branch) => format!("on branch '{}'", crate::shown(branch, 100)),
                    None => "on no branch".to_owned(),
                };
                let wanted = crate::shown(wanted, 100);
                Err(self.cannot(
                    action,
                    format!("its worktree is {now}, not on '{wanted}'"),
                    format!("check '{wanted}' out in {}", self.top.display()),
                ))
            }
        }
    }

    pub(super) fn known_head(&self, action: &'static str) -> Result<String> {
        self.head.clone().ok_or_else(|| {
            self.cannot(
                action,
                "its branch has no commit",
                "approve with --no-merge",
            )
        })
    }

    /// The branch that the work came from.
    fn target(&self) -> Result<String> {
        let recorded = self.base.branch.clone();
        let target = match recorded {
            Some(branch) => Some(branch),
            None => {
                let words = ["symbolic-ref", "--quiet", "--short", "main-worktree/HEAD"];
                let found = self.git.run(&self.top, words).ok();
                found.filter(|name| !name.is_empty())
            }
        };
        let own = self.branch.as_deref();
        match target {
            Some(target) if Some(target.as_str()) != own => Ok(target),
            _ => Err(self.cannot(
                "merged",
                "the branch it came from is not known",
                "merge it yourself and approve with --no-merge, or push it with --push",
            )),
        }
    }

    fn tip(&self, branch: &str) -> Result<String> {
        let found = self.commit(&format!("refs/heads/{branch}"))?;
        found.ok_or_else(|| {
            let branch = crate::shown(branch, 100);
            self.cannot(
                "merged",
                format!("there is no branch '{branch}' any more"),
                "merge it yourself and approve with --no-merge, or push it with --push",
            )
        })
    }

    /// Where branches are checked out.
    fn checked_out(&self) -> Result<Vec<CheckedOut>> {
        let words = ["worktree", "list", "--porcelain", "-z"];
        let list = self.git.run_with_input(&self.top, words, b"", LIMITS);
        let list = list.map_err(ReviewError::from)?;
        let list = String::from_utf8_lossy(&list).into_owned();
        let mut found = Vec::new();
        let mut path = None;
        for line in list.split('\0') {
            if let Some(worktree) = line.strip_prefix("worktree ") {
                path = Some(PathBuf::from(worktree));
            } else if let Some(branch) = line.strip_prefix("branch refs/heads/")
                && let Some(path) = path.take()
            {
                let branch = branch.to_owned();
                found.push(CheckedOut { path, branch });
            }
        }
        Ok(found)
    }

    /// Refuses a branch that is checked out with changes that are not committed.
    fn must_be_clean(&self, target: &str, all: &[CheckedOut]) -> Result<()> {
        let Some(found) = all.iter().find(|one| one.branch == target) else {
            return Ok(());
        };
        let words = [
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=no",
            "--ignore-submodules=dirty",
        ];
        let status = self
            .anywhere
            .run_with_input(&found.path, words, b"", LIMITS)
            .map_err(ReviewError::from)?;
        if status.is_empty() {
            return Ok(());
        }
        let changed = status
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty());
        Err(self.cannot(
            "merged",
            format!(
                "'{}' has {} changes that are not committed in {}",
                crate::shown(target, 100),
                changed.count(),
                found.path.display()
            ),
            "commit or stash them first",
        ))
    }

    /// The tree of a merge; refuses conflicts.
    fn merged_tree(&self, target: &str, onto: &str, tip: &str) -> Result<String> {
        let words = [
            "merge-tree",
            "--write-tree",
            "--name-only",
            "--no-messages",
            "-z",
            onto,
            tip,
        ];
        let answer = self
            .git
            .run_accepting(&[0, 1], &self.top, words, b"", LIMITS);
        let answer = answer.map_err(ReviewError::from)?;
        let text = String::from_utf8_lossy(&answer.bytes).into_owned();
        let mut fields = text.split('\0').filter(|field| !field.is_empty());
        let tree = fields.next().unwrap_or_default().trim().to_owned();
        if answer.code == 0 {
            return Ok(tree);
        }
        let mut files: Vec<&str> = fields.collect();
        files.dedup();
        let named: Vec<String> = files
            .iter()
            .take(NAMED)
            .map(|name| crate::shown(name, 100))
            .collect();
        let more = files.len().saturating_sub(NAMED);
        let more = if more > 0 {
            format!(" and {more} more")
        } else {
            String::new()
        };
        let target = crate::shown(target, 100);
        Err(self.cannot(
            "merged",
            format!("it conflicts with '{target}' in {}{more}", named.join(", ")),
            format!(
                "send it back with `hermes kanban review request-changes {} 'Merge {target} and \
                 resolve the conflicts'`",
                self.task.id
            ),
        ))
    }

    fn merge(&self, tip: &str) -> Result<Landed> {
        let target = self.target()?;
        let checked_out = self.checked_out()?;
        self.must_be_clean(&target, &checked_out)?;
        let onto = self.tip(&target)?;
        if self.leads_to(tip, &onto)? {
            return Ok(Landed::Merged {
                branch: target,
                commit: tip.to_owned(),
                fast_forward: true,
                already: true,
            });
        }
        let fast_forward = self.leads_to(&onto, tip)?;
        let commit = if fast_forward {
            tip.to_owned()
        } else {
            let tree = self.merged_tree(&target, &onto, tip)?;
            let own = self.branch.as_deref().unwrap_or_default();
            let message = self.message(&format!("Merge branch '{}': ", crate::shown(own, 100)));
            let words = ["commit-tree", &tree, "-p", &onto, "-p", tip, "-m", &message];
            let made = self.author(&self.git).run(&self.top, words);
            made.map_err(ReviewError::from)?
        };
        let place = checked_out.iter().find(|one| one.branch == target);
        self.advance(&target, place.map(|one| one.path.as_path()), &onto, &commit)?;
        Ok(Landed::Merged {
            branch: target,
            commit,
            fast_forward,
            already: false,
        })
    }

    /// Moves a branch to a commit that follows it, with the files where it is checked out.
    fn advance(&self, target: &str, place: Option<&Path>, onto: &str, commit: &str) -> Result<()> {
        let moved = match place {
            Some(place) => {
                let words = [
                    "merge",
                    "--ff-only",
                    "--no-autostash",
                    "--no-stat",
                    "--no-verify-signatures",
                    "--quiet",
                    commit,
                ];
                self.anywhere.run_within(place, words, LIMITS)
            }
            None => {
                let name = format!("refs/heads/{target}");
                let words = [
                    "update-ref",
                    "-m",
                    "merge of a card's work",
                    &name,
                    commit,
                    onto,
                ];
                self.git.run(&self.top, words)
            }
        };
        match moved {
            Ok(_) => Ok(()),
            Err(GitError::Refused { message, .. }) => Err(self.cannot(
                "merged",
                format!(
                    "git does not move '{}': {message}",
                    crate::shown(target, 100)
                ),
                "mend that and approve again; nothing was merged",
            )),
            Err(error) => Err(ReviewError::from(error).into()),
        }
    }
}
