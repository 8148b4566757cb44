//! What becomes of approved work: its branch is merged or pushed.
//!
//! A merge is made beside the branch it goes to, as a commit, and only then does that branch move to
//! it in one step: what conflicts, or a branch that moved meanwhile, leaves everything as it was.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_proc::{Git, GitError, GitLimits};
use serde::Serialize;

use crate::model::{OnApprove, WorkspaceKind};
use crate::review::ReviewedWork;
use crate::review_error::ReviewError;
use crate::{Error, Result};

/// Time of a merge, and of a push over a slow line.
const TIMEOUT: Duration = Duration::from_mins(10);
const LIMITS: GitLimits = GitLimits {
    timeout: TIMEOUT,
    max_output: 4 * 1024 * 1024,
};
/// Conflicting files that are named.
const NAMED: usize = 5;
/// Characters of a title in the message of a commit.
const TITLE: usize = 100;

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
    /// Refuses what could not be merged or pushed, as far as that shows without doing it.
    pub(super) fn may_land(&self, action: &OnApprove) -> Result<()> {
        match action {
            OnApprove::Keep => Ok(()),
            OnApprove::Merge => {
                self.own_branch("merged")?;
                let target = self.target()?;
                let checked_out = self.checked_out()?;
                self.must_be_clean(&target, &checked_out)?;
                self.nothing_uncommittable("merged")?;
                let (onto, tip) = (self.tip(&target)?, self.known_head("merged")?);
                // What is not committed yet may add conflicts; what conflicts already is told now.
                if !self.leads_to(&tip, &onto)? && !self.leads_to(&onto, &tip)? {
                    self.merged_tree(&target, &onto, &tip)?;
                }
                Ok(())
            }
            OnApprove::Push(remote) => {
                self.own_branch("pushed")?;
                self.nothing_uncommittable("pushed")?;
                self.remote(remote.as_deref()).map(drop)
            }
        }
    }

    /// Merges or pushes the work.
    pub(super) fn land(&self, action: &OnApprove) -> Result<Landed> {
        match action {
            OnApprove::Keep => Ok(Landed::Kept),
            OnApprove::Merge => self.merge(),
            OnApprove::Push(remote) => self.push(remote.as_deref()),
        }
    }

    fn cannot(
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
    fn own_branch(&self, action: &'static str) -> Result<&str> {
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

    fn known_head(&self, action: &'static str) -> Result<String> {
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

    /// What is not committed, as `git status` prints it.
    fn uncommitted(&self) -> Result<Vec<String>> {
        let words = [
            "status",
            "--porcelain",
            "-z",
            "--untracked-files=all",
            "--no-renames",
            "--ignore-submodules=dirty",
        ];
        let status = self.git.run_with_input(&self.top, words, b"", LIMITS);
        let status = status.map_err(ReviewError::from)?;
        let entries = status
            .split(|byte| *byte == 0)
            .filter(|entry| !entry.is_empty());
        Ok(entries
            .map(|entry| String::from_utf8_lossy(entry).into_owned())
            .collect())
    }

    /// Refuses what is not committed and cannot be committed as it was reviewed.
    fn nothing_uncommittable(&self, action: &'static str) -> Result<()> {
        let entries = self.uncommitted()?;
        let name = |entry: &str| crate::shown(entry.get(3..).unwrap_or_default(), 200);
        let is_conflict = |entry: &&String| {
            let state = entry.get(..2).unwrap_or_default();
            state.contains('U') || state == "AA" || state == "DD"
        };
        let hint = format!("look at it in {}", self.top.display());
        if let Some(entry) = entries.iter().find(is_conflict) {
            let problem = format!("{} has conflicts that are not resolved", name(entry));
            return Err(self.cannot(action, problem, hint));
        }
        if let Some(entry) = entries.iter().find(|entry| entry.ends_with('/')) {
            let problem = format!("{} is a repository of its own", name(entry));
            return Err(self.cannot(action, problem, hint));
        }
        if entries.is_empty() {
            return Ok(());
        }
        // Files that a program of the repository would change on their way into a commit.
        let ask = ["config", "--get-regexp", "^filter\\..*\\.(clean|process)$"];
        if self.git.run(&self.top, ask).is_ok() {
            let mut paths = Vec::new();
            for entry in &entries {
                paths.extend_from_slice(entry.get(3..).unwrap_or_default().as_bytes());
                paths.push(0);
            }
            let words = ["check-attr", "-z", "--stdin", "filter"];
            let answer = self.git.run_with_input(&self.top, words, &paths, LIMITS);
            let answer = answer.map_err(ReviewError::from)?;
            let answer = String::from_utf8_lossy(&answer).into_owned();
            let fields: Vec<&str> = answer.split('\0').collect();
            let filtered = fields.chunks_exact(3).find(|field| {
                let value = field.get(2).copied().unwrap_or_default();
                !matches!(value, "unspecified" | "unset")
            });
            if let Some(&[path, ..]) = filtered {
                let path = crate::shown(path, 200);
                let problem = format!("{path} is not committed and has a filter, which is not run");
                let hint = format!("commit it yourself in {}", self.top.display());
                return Err(self.cannot(action, problem, hint));
            }
        }
        Ok(())
    }

    /// Git with somebody as the author of commits, where nobody is configured.
    fn author(&self, git: &Git) -> Git {
        match git.run(&self.top, ["config", "user.email"]) {
            Ok(_) => git.clone(),
            Err(_) => git
                .clone()
                .with_settings(&["user.name=Hermes", "user.email=hermes@localhost"]),
        }
    }

    fn message(&self, what: &str) -> String {
        let title = hermes_text::one_line(&self.task.title, TITLE);
        format!("{what}{title}\n\nCard: {}\n", self.task.id)
    }

    /// Commits what is not committed on the card's branch; gives its newest commit.
    fn commit_rest(&self, action: &'static str) -> Result<String> {
        self.own_branch(action)?;
        self.nothing_uncommittable(action)?;
        if self.uncommitted()?.is_empty() {
            return self.known_head(action);
        }
        let git = self.author(&self.git);
        let run = |words: &[&str]| {
            let answer = git.run_within(&self.top, words.iter().copied(), LIMITS);
            answer.map_err(ReviewError::from)
        };
        run(&["add", "--all"])?;
        let message = self.message("");
        run(&[
            "commit",
            "--quiet",
            "--no-verify",
            "--no-status",
            "-m",
            &message,
        ])?;
        let head = self.commit("HEAD")?;
        head.ok_or_else(|| self.cannot(action, "its branch has no commit", "look at its worktree"))
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

    fn merge(&self) -> Result<Landed> {
        let target = self.target()?;
        let checked_out = self.checked_out()?;
        self.must_be_clean(&target, &checked_out)?;
        let tip = self.commit_rest("merged")?;
        let onto = self.tip(&target)?;
        if self.leads_to(&tip, &onto)? {
            return Ok(Landed::Merged {
                branch: target,
                commit: tip,
                fast_forward: true,
                already: true,
            });
        }
        let fast_forward = self.leads_to(&onto, &tip)?;
        let commit = if fast_forward {
            tip
        } else {
            let tree = self.merged_tree(&target, &onto, &tip)?;
            let own = self.branch.as_deref().unwrap_or_default();
            let message = self.message(&format!("Merge branch '{}': ", crate::shown(own, 100)));
            let words = [
                "commit-tree",
                &tree,
                "-p",
                &onto,
                "-p",
                &tip,
                "-m",
                &message,
            ];
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

    /// The remote to push to: the one that is named, that of the branch the work came from, or the
    /// only one.
    fn remote(&self, named: Option<&str>) -> Result<String> {
        let all = self
            .git
            .run(&self.top, ["remote"])
            .map_err(ReviewError::from)?;
        let all: Vec<&str> = all.lines().collect();
        let of_branch = self.base.branch.as_ref().and_then(|branch| {
            let key = format!("branch.{branch}.remote");
            self.git.run(&self.top, ["config", "--get", &key]).ok()
        });
        let only = match all.as_slice() {
            [only] => Some((*only).to_owned()),
            _ => None,
        };
        let origin = || all.contains(&"origin").then(|| "origin".to_owned());
        let wanted = named
            .map(str::to_owned)
            .or(of_branch)
            .or(only)
            .or_else(origin);
        match wanted {
            Some(remote) if all.contains(&remote.as_str()) => Ok(remote),
            Some(remote) => Err(self.cannot(
                "pushed",
                format!(
                    "its repository has no remote '{}'",
                    crate::shown(&remote, 100)
                ),
                format!("`git remote add` adds one in {}", self.top.display()),
            )),
            None => Err(self.cannot(
                "pushed",
                "it is not clear to which remote",
                "name one with --push=REMOTE",
            )),
        }
    }

    fn push(&self, named: Option<&str>) -> Result<Landed> {
        let remote = self.remote(named)?;
        let commit = self.commit_rest("pushed")?;
        let branch = self.own_branch("pushed")?.to_owned();
        let reference = format!("{commit}:refs/heads/{branch}");
        let words = [
            "push",
            "--quiet",
            "--no-verify",
            "--no-signed",
            "--no-follow-tags",
            "--recurse-submodules=no",
            "--receive-pack=git-receive-pack",
            &remote,
            &reference,
        ];
        // Programs that the user has chosen for passwords are run, those of the repository are not.
        let mut git = self.git.clone().with_settings(&["core.sshCommand=ssh"]);
        for scope in ["--system", "--global"] {
            let words = ["config", scope, "--get-all", "credential.helper"];
            let helpers = self.git.run(&self.top, words).unwrap_or_default();
            for helper in helpers.lines() {
                git = git.with_setting(format!("credential.helper={helper}"));
            }
        }
        match git.run_within(&self.top, words, LIMITS) {
            Ok(_) => Ok(Landed::Pushed {
                remote,
                branch,
                commit,
            }),
            Err(GitError::Refused { message, .. }) => Err(self.cannot(
                "pushed",
                format!("the remote '{remote}' did not take it: {message}"),
                "mend that and approve again",
            )),
            Err(error) => Err(ReviewError::from(error).into()),
        }
    }
}
