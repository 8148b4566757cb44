//! A git worktree for one conversation: created before it begins and removed after it ends, however
//! it ends, unless something in it would be lost.

use std::path::{Path, PathBuf};

use hermes_fs::{Directory, random_hex};
use hermes_proc::{Git, GitLimits, WorktreeBranch};

use crate::context::Context;
use crate::error::{Error, Result};
use crate::person::Person;

/// Directory of worktrees in a repository.
const DIRECTORY: &str = ".worktrees";
/// Copies are compared with what they were made of up to this size.
const LARGEST_COPY: u64 = 64 * 1024 * 1024;
/// Bytes of the list of files that is looked through for submodules, and how such a line begins.
const LONGEST_INDEX: usize = 64 * 1024 * 1024;
const SUBMODULE: &str = "160000 ";
/// Longest `.gitignore` or `.worktreeinclude`.
const LONGEST_LIST: u64 = 1024 * 1024;

/// A worktree.
pub(crate) struct Worktree {
    git: Git,
    repository: PathBuf,
    path: PathBuf,
    branch: String,
    /// What `.worktreeinclude` had copied into it.
    copied: Vec<String>,
    is_finished: bool,
}

impl Worktree {
    /// Creates a worktree from HEAD of the repository around the current directory.
    pub(crate) fn create(context: &Context) -> Result<Self> {
        let start = context.system.start_dir.clone().unwrap_or_default();
        let git = Git::find(context.environment().helper_plan()).map_err(|_| {
            Error::environment("a worktree needs git, which is not installed", None)
        })?;
        let Ok(top) = git.run(&start, ["rev-parse", "--show-toplevel"]) else {
            let start = start.display();
            return Err(Error::user(
                format!("a worktree needs a git repository, and {start} is not inside one"),
                Some("change into a repository, or leave -w out"),
            ));
        };
        let repository = PathBuf::from(top);
        let name = format!("hermes-{}", random_hex(8));
        let branch = format!("hermes/{name}");
        let path = repository.join(DIRECTORY).join(&name);
        git.add_worktree(&repository, &path, WorktreeBranch::New(&branch))
            .map_err(|error| {
                Error::user(format!("could not create the worktree: {error}"), None)
            })?;
        let mut worktree = Self {
            git,
            repository,
            path,
            branch,
            copied: Vec::new(),
            is_finished: false,
        };
        worktree.ignore()?;
        worktree.copy_included()?;
        Ok(worktree)
    }

    /// Its directory.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The paragraph of the system prompt about the worktree.
    pub(crate) fn note(&self) -> String {
        format!(
            "You work in a separate git worktree: {}, on the branch `{}`. Commit what should be \
             kept; do not change the main working tree at {}.",
            self.path.display(),
            self.branch,
            self.repository.display()
        )
    }

    /// Removes the worktree with its branch, unless it holds changes or commits that are nowhere
    /// else, and tells the person if it stays.
    pub(crate) fn finish(mut self, person: &dyn Person) {
        let shown = self.path.display().to_string();
        match self.remove() {
            Ok(None) => {}
            Ok(Some(what)) => person.notify(&format!(
                "The worktree {shown} was kept: it contains {what} that exist nowhere else (branch \
                 {}).",
                self.branch
            )),
            Err(message) => {
                let message = format!("the worktree {shown} was not removed: {message}");
                person.warn(&message, None);
            }
        }
    }

    /// Removes the worktree. Gives what it holds that is nowhere else, for which it is kept.
    fn remove(&mut self) -> std::result::Result<Option<&'static str>, String> {
        self.is_finished = true;
        let status = self.git.run(&self.path, ["status", "--porcelain", "-uall"]);
        if status.map_or(true, |text| text.lines().any(|line| self.is_change(line))) {
            return Ok(Some("changes"));
        }
        if self.holds_commits() {
            return Ok(Some("commits"));
        }
        if self.has_submodule_files() {
            return Ok(Some("files of submodules"));
        }
        let shown = self.path.display().to_string();
        let remove = ["worktree", "remove", "--force", &shown];
        let removed = self.git.run(&self.repository, remove);
        let removed = removed.and_then(|_| {
            let delete = ["branch", "-D", &self.branch];
            self.git.run(&self.repository, delete)
        });
        removed.map(|_| None).map_err(|error| error.to_string())
    }

    /// Whether a line of git's status is about more than an unchanged copy.
    fn is_change(&self, line: &str) -> bool {
        let Some(path) = line.strip_prefix("?? ") else {
            return true;
        };
        let relative = Path::new(path);
        let is_copy = self.copied.iter().any(|copy| relative.starts_with(copy));
        let content = |root: &Path| hermes_fs::read_capped(&root.join(relative), LARGEST_COPY).ok();
        !(is_copy && content(&self.path) == content(&self.repository))
    }

    /// Whether the branch has commits that neither a remote nor another branch has.
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
        let count = self.git.run(&self.path, words);
        count.map_or(true, |count| count.trim() != "0")
    }

    /// Whether the work tree of a submodule has anything in it. What has changed there is not asked: git
    /// would be run inside of it.
    fn has_submodule_files(&self) -> bool {
        let limits = GitLimits {
            max_output: LONGEST_INDEX,
            ..GitLimits::default()
        };
        let words = ["ls-files", "--stage", "-z"];
        let Ok(list) = self.git.run_within(&self.path, words, limits) else {
            return true;
        };
        // An index that is longer than what was read may name one behind that.
        list.len() >= LONGEST_INDEX
            || list
                .split_terminator('\0')
                .filter(|entry| entry.starts_with(SUBMODULE))
                .filter_map(|entry| Some(entry.split_once('\t')?.1))
                .any(|path| {
                    let found = hermes_fs::read_dir(&self.path.join(path));
                    found.is_ok_and(|entries| !entries.is_empty())
                })
    }

    /// Adds the directory of worktrees to `.gitignore`.
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

    /// Copies the files that `.worktreeinclude` names and git does not have: settings, local data.
    fn copy_included(&mut self) -> Result<()> {
        let list = self.repository.join(".worktreeinclude");
        let Some(bytes) = hermes_fs::read_optional(&list, LONGEST_LIST)? else {
            return Ok(());
        };
        let repository = Directory::open(&self.repository)?;
        let worktree = Directory::open(&self.path)?;
        let root = hermes_fs::canonicalize(&self.repository)?;
        let text = String::from_utf8_lossy(&bytes);
        let entries = text.lines().map(str::trim);
        for entry in entries.filter(|entry| !entry.is_empty() && !entry.starts_with('#')) {
            let Ok(relative) = hermes_fs::confined_relative(entry) else {
                tracing::warn!(
                    entry,
                    "not copied into the worktree: it points outside the repository"
                );
                continue;
            };
            // A link that stays inside counts as what it leads to.
            let real = hermes_fs::canonicalize(&self.repository.join(&relative)).ok();
            let Some(source) = real.as_ref().and_then(|real| real.strip_prefix(&root).ok()) else {
                continue;
            };
            match copy_entry(&repository, source, &worktree, &relative) {
                Ok(true) => self.copied.push(relative.display().to_string()),
                Ok(false) => {}
                Err(error @ hermes_fs::Error::SymlinkInPath { .. }) => {
                    tracing::warn!(entry, %error, "not copied into the worktree");
                }
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }
}

/// Copies a file or directory that the worktree lacks; says whether it did. Neither side is reached
/// through a link.
fn copy_entry(
    from: &Directory,
    source: &Path,
    to: &Directory,
    relative: &Path,
) -> hermes_fs::Result<bool> {
    let found = |directory: &Directory, path: &Path| match directory.metadata(path) {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    };
    let (Some(meta), None) = (found(from, source)?, found(to, relative)?) else {
        return Ok(false);
    };
    let parent = relative.parent().unwrap_or(Path::new(""));
    to.create_directories(parent, 0o755)?;
    if meta.is_dir() {
        let target = to.create_directory(relative, 0o755)?;
        hermes_fs::copy_between(&from.directory(source)?, &target, &mut |_, _| true)?;
    } else {
        from.copy_file(source, to, relative, 0o644)?;
    }
    Ok(true)
}

impl Drop for Worktree {
    fn drop(&mut self) {
        // The conversation could not be opened.
        if !self.is_finished && self.remove() != Ok(None) {
            tracing::warn!(path = %self.path.display(), "could not remove a worktree");
        }
    }
}
