//! A git worktree for one conversation: made before it begins, put away after it ends, however it
//! ends, unless something in it would be lost.

use std::hash::{BuildHasher, RandomState};
use std::path::{Path, PathBuf};

use hermes_fs::{Entry, Verdict};

use super::git::Git;
use crate::context::Context;
use crate::error::{CommandError, Result};

/// Directory of worktrees in a repository.
const DIRECTORY: &str = ".worktrees";
/// Copies are compared with what they were made of up to this size.
const LARGEST_COPY: u64 = 64 * 1024 * 1024;
/// Longest list of files to take along.
const LONGEST_LIST: u64 = 1024 * 1024;

/// A worktree.
pub(super) struct Worktree {
    git: Git,
    repository: PathBuf,
    path: PathBuf,
    branch: String,
    /// What was copied into it.
    taken_along: Vec<String>,
    is_left: bool,
}

/// What became of a worktree at the end.
enum Left {
    Removed,
    /// It holds these, and they are nowhere else.
    Kept(&'static str),
    /// git said this.
    Stuck(String),
}

impl Worktree {
    /// Makes one from HEAD of the repository around the current directory.
    pub(super) fn make(context: &Context) -> Result<Self> {
        let start = context.system.start_dir.clone().unwrap_or_default();
        let git = Git::find(context)
            .ok_or_else(|| CommandError::environment("-w needs git, which is not installed"))?;
        let Ok(top) = git.ask(&start, &["rev-parse", "--show-toplevel"]) else {
            return Err(
                CommandError::user("-w needs a git repository, and this is none")
                    .hint("change into a repository, or leave -w out"),
            );
        };
        let repository = PathBuf::from(top);
        let name = format!("hermes-{:08x}", chance() & 0xFFFF_FFFF);
        let branch = format!("hermes/{name}");
        let path = repository.join(DIRECTORY).join(&name);
        let shown = path.display().to_string();
        let words = ["worktree", "add", "-b", &branch, &shown, "HEAD"];
        git.ask(&repository, &words).map_err(|said| {
            CommandError::user(format!("the worktree could not be made: {said}"))
        })?;
        let mut worktree = Self {
            git,
            repository,
            path,
            branch,
            taken_along: Vec::new(),
            is_left: false,
        };
        worktree.ignore()?;
        worktree.take_along()?;
        Ok(worktree)
    }

    /// Its directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// What the agent is told about it.
    pub(super) fn note(&self) -> String {
        format!(
            "You work in a git worktree of its own: {}, on the branch `{}`. Commit what is to be \
             kept; the main working tree at {} is not yours to change.",
            self.path.display(),
            self.branch,
            self.repository.display()
        )
    }

    /// Removes it with its branch, unless it holds changes or commits that are nowhere else.
    pub(super) fn leave(mut self, context: &Context) -> Result<()> {
        let shown = self.path.display().to_string();
        match self.put_away() {
            Left::Removed => {}
            Left::Kept(what) => context.printer.note(format!(
                "The worktree {shown} is kept: it holds {what} that are nowhere else (branch {}).",
                self.branch
            ))?,
            Left::Stuck(said) => context.printer.warn(
                format!("the worktree {shown} was not removed: {said}"),
                None,
            )?,
        }
        Ok(())
    }

    fn put_away(&mut self) -> Left {
        self.is_left = true;
        let is_dirty = self
            .git
            .ask(&self.path, &["status", "--porcelain", "-uall"])
            .map_or(true, |text| text.lines().any(|line| self.is_news(line)));
        if is_dirty {
            return Left::Kept("changes");
        }
        if self.holds_commits() {
            return Left::Kept("commits");
        }
        let shown = self.path.display().to_string();
        let removed = self
            .git
            .ask(&self.repository, &["worktree", "remove", "--force", &shown])
            .and_then(|_| {
                self.git
                    .ask(&self.repository, &["branch", "-D", &self.branch])
            });
        match removed {
            Ok(_) => Left::Removed,
            Err(said) => Left::Stuck(said),
        }
    }

    /// Whether a line of git's status tells of something that is not just a copy we made.
    fn is_news(&self, line: &str) -> bool {
        let Some(path) = line.strip_prefix("?? ") else {
            return true;
        };
        let relative = Path::new(path);
        let is_copy = self
            .taken_along
            .iter()
            .any(|taken| relative.starts_with(taken));
        let content = |root: &Path| hermes_fs::read_capped(&root.join(relative), LARGEST_COPY).ok();
        !(is_copy && content(&self.path) == content(&self.repository))
    }

    /// Whether commits would be lost with the branch: those that neither a remote nor another branch
    /// has.
    fn holds_commits(&self) -> bool {
        let exclude = format!("--exclude=refs/heads/{}", self.branch);
        let words = [
            "rev-list",
            "--count",
            "HEAD",
            "--not",
            "--remotes",
            &exclude,
            "--branches",
        ];
        let count = self.git.ask(&self.path, &words);
        count.map_or(true, |count| count.trim() != "0")
    }

    /// Keeps worktrees out of the repository's own files.
    fn ignore(&self) -> Result<()> {
        let path = self.repository.join(".gitignore");
        let line = format!("{DIRECTORY}/");
        let bytes = hermes_fs::read_optional(&path, LONGEST_LIST)?.unwrap_or_default();
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        let is_there = text.lines().any(|entry| {
            [line.as_str(), DIRECTORY].contains(&entry.trim().trim_start_matches('/'))
        });
        if is_there {
            return Ok(());
        }
        if !text.is_empty() && !text.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&line);
        text.push('\n');
        Ok(hermes_fs::write_atomic(&path, text.as_bytes(), 0o644)?)
    }

    /// Copies what `.worktreeinclude` names and git does not have: settings, local data.
    fn take_along(&mut self) -> Result<()> {
        let list = self.repository.join(".worktreeinclude");
        let Some(bytes) = hermes_fs::read_optional(&list, LONGEST_LIST)? else {
            return Ok(());
        };
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().map(str::trim);
        for entry in entries.filter(|entry| !entry.is_empty() && !entry.starts_with('#')) {
            let Ok(relative) = hermes_fs::confined_relative(entry) else {
                tracing::warn!(entry, "not taken along: it leads out of the repository");
                continue;
            };
            let from = self.repository.join(&relative);
            let to = self.path.join(&relative);
            let is_inside = |path: &Path, root: &Path| {
                let path = hermes_fs::canonicalize(path);
                let root = hermes_fs::canonicalize(root);
                matches!((path, root), (Ok(path), Ok(root)) if path.starts_with(&root))
            };
            let parent = to.parent().unwrap_or(&self.path).to_owned();
            if !is_inside(&from, &self.repository) || hermes_fs::exists_no_follow(&to) {
                continue;
            }
            hermes_fs::create_dir_all(&parent, 0o755)?;
            if !is_inside(&parent, &self.path) {
                continue;
            }
            if from.is_dir() {
                hermes_fs::copy_tree(&from, &to, &mut |_: &Path, _: &Entry| Verdict::Copy)?;
            } else {
                hermes_fs::copy_file(&from, &to, 0o644)?;
            }
            self.taken_along.push(relative.display().to_string());
        }
        Ok(())
    }
}

impl Drop for Worktree {
    fn drop(&mut self) {
        // The conversation did not come about.
        if !self.is_left && !matches!(self.put_away(), Left::Removed) {
            tracing::warn!(path = %self.path.display(), "a worktree stays behind");
        }
    }
}

fn chance() -> u64 {
    RandomState::new().hash_one(std::process::id())
}
