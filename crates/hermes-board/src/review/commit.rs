//! Committing what a worker left uncommitted, as it was reviewed.

use hermes_proc::Git;

use crate::Result;
use crate::review::ReviewedWork;
use crate::review::land::LIMITS;
use crate::review_error::ReviewError;

/// Characters of a title in the message of a commit.
const TITLE: usize = 100;

impl ReviewedWork {
    /// What is not committed, as `git status` prints it.
    fn uncommitted(&self) -> Result<Vec<Vec<u8>>> {
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
        Ok(entries.map(<[u8]>::to_vec).collect())
    }

    /// Refuses what is not committed and cannot be committed as it was reviewed.
    fn nothing_uncommittable(&self, action: &'static str) -> Result<()> {
        let entries = self.uncommitted()?;
        // Two letters and a blank come before the name.
        let name = |entry: &[u8]| {
            let name = String::from_utf8_lossy(entry.get(3..).unwrap_or_default());
            crate::shown(&name, 200)
        };
        let is_conflict = |entry: &&Vec<u8>| {
            let state = entry.get(..2).unwrap_or_default();
            state.contains(&b'U') || state == b"AA" || state == b"DD"
        };
        let hint = format!("look at it in {}", self.top.display());
        if let Some(entry) = entries.iter().find(is_conflict) {
            let problem = format!("{} has conflicts that are not resolved", name(entry));
            return Err(self.cannot(action, problem, hint));
        }
        if let Some(entry) = entries.iter().find(|entry| entry.ends_with(b"/")) {
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
                paths.extend_from_slice(entry.get(3..).unwrap_or_default());
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
    pub(super) fn author(&self, git: &Git) -> Git {
        match git.run(&self.top, ["config", "user.email"]) {
            Ok(_) => git.clone(),
            Err(_) => git
                .clone()
                .with_settings(&["user.name=Hermes", "user.email=hermes@localhost"]),
        }
    }

    pub(super) fn message(&self, what: &str) -> String {
        let title = hermes_text::one_line(&self.task.title, TITLE);
        format!("{what}{title}\n\nCard: {}\n", self.task.id)
    }

    /// Commits what is not committed on the card's branch; gives its newest commit.
    pub(super) fn commit_rest(&self, action: &'static str) -> Result<String> {
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
}
