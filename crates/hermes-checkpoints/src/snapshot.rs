//! Taking a snapshot: the directory into an index, the index into a tree, the tree into a commit.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use hermes_fs::{exists_no_follow, remove_file_if_present};
use hermes_proc::GitError;
use hermes_text::one_line;

use crate::exclude::{excluded_directories, is_never_saved};
use crate::store::StoreGit;
use crate::tree_scan::{MOST_ENTRIES, TreeScan};
use crate::{Error, Limits, Project, Result, Store};

/// Characters of the reason of a snapshot.
const REASON: usize = 120;
/// The mode of an entry that is a repository of its own.
const REPOSITORY: &[u8] = b"160000 ";
/// What `git add` ends with when some files could not be read and the others were added.
const SOME_FAILED: i32 = 1;

/// The first snapshot of a directory becomes one pack instead of a file for each file: a third of the
/// time and of the room.
const PACKED: [&str; 2] = ["core.bigFileThreshold=1", "core.compression=1"];

/// What became of a snapshot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Taken {
    /// It has this id.
    Snapshot(String),
    /// Nothing has changed since the one before, or there is nothing to save.
    Unchanged,
}

impl Store {
    /// Takes a snapshot of a project.
    pub(crate) fn take(&self, project: &Project, reason: &str, limits: &Limits) -> Result<Taken> {
        let _lock = self.lock()?;
        let taken = self.take_locked(project, reason, limits)?;
        if let Taken::Snapshot(_) = taken {
            self.drop_old(project, limits);
        }
        Ok(taken)
    }

    /// Drops what is too much after a new snapshot. That one is taken, whatever becomes of the old ones.
    pub(crate) fn drop_old(&self, project: &Project, limits: &Limits) {
        let dropped = self
            .keep_latest(project, limits.max_snapshots)
            .and_then(|()| self.enforce_size(limits.max_total_bytes));
        if let Err(error) = dropped {
            tracing::warn!(%error, "old snapshots were not removed");
        }
    }

    /// Takes a snapshot and drops no other one. Called under the lock.
    pub(crate) fn take_locked(
        &self,
        project: &Project,
        reason: &str,
        limits: &Limits,
    ) -> Result<Taken> {
        self.ensure()?;
        self.remove_stale_locks(Some(project));
        self.touch(project)?;
        let index = self.index(project);
        let git = self.git_on(project.directory(), &index)?;
        let tree = stage(project, &git, &index, limits)?;
        let tip = tip(&git, project)?;
        match &tip {
            Some(tip) if tip.tree == tree => return Ok(Taken::Unchanged),
            None if git.run(["ls-tree", "--name-only", &tree])?.is_empty() => {
                return Ok(Taken::Unchanged);
            }
            _ => {}
        }
        let reason = one_line(reason, REASON);
        let mut commit = vec!["commit-tree", "--no-gpg-sign", "-m", &reason, &tree];
        if let Some(tip) = &tip {
            commit.extend(["-p", &tip.commit]);
        }
        let id = git.run(commit)?;
        let reference = project.reference();
        let mut update = vec!["update-ref", &reference, &id];
        if let Some(tip) = &tip {
            update.push(&tip.commit);
        }
        git.run(update)?;
        Ok(Taken::Snapshot(id))
    }
}

/// Brings an index up to the directory and gives the tree of it. What stands in the index is kept,
/// so that git looks into changed files only.
pub(crate) fn stage(
    project: &Project,
    git: &StoreGit,
    index: &Path,
    limits: &Limits,
) -> Result<String> {
    let refused = |why: String| Error::Refused {
        directory: project.directory().to_owned(),
        why,
    };
    let scan = TreeScan::of(project.directory(), limits.max_file_bytes)
        .ok_or_else(|| refused(format!("it has more than {MOST_ENTRIES} files")))?;
    if limits.max_total_bytes > 0 && scan.bytes > limits.max_total_bytes {
        let bytes = unignored_bytes(project, git)?;
        if bytes > limits.max_total_bytes {
            return Err(refused(format!(
                "it has {} MB of files, more than checkpoints.max_total_size_mb allows",
                bytes >> 20
            )));
        }
    }
    let attempt = || -> Result<String> {
        add(git, &scan, index)?;
        Ok(git.run(["write-tree"])?)
    };
    match attempt() {
        // The index cannot be read, or names files whose content was never saved.
        Err(Error::Git(error @ GitError::Refused { .. })) if exists_no_follow(index) => {
            tracing::warn!(%error, "the index of the snapshots is made anew");
            remove_file_if_present(index)?;
            attempt()
        }
        result => result,
    }
}

/// Adds everything in the directory to the index, and takes out what is left out.
fn add(git: &StoreGit, scan: &TreeScan, index: &Path) -> Result<()> {
    let is_first = !exists_no_follow(index);
    if !is_first {
        let unwanted = unwanted(git, scan)?;
        if !unwanted.is_empty() {
            let words = ["update-index", "--force-remove", "-z", "--stdin"];
            git.run_with(words, &listed(&unwanted, ""))?;
        }
    }
    let mut paths = b".\0".to_vec();
    for pattern in excluded_directories() {
        paths.extend_from_slice(pattern.as_bytes());
        paths.push(0);
    }
    paths.extend(listed(&scan.excluded, ":(exclude,literal)"));
    let words = [
        "add",
        "--all",
        "--ignore-errors",
        "--pathspec-from-file=-",
        "--pathspec-file-nul",
    ];
    let mut git = git.clone().patient(2);
    if is_first {
        git = git.with_settings(&PACKED);
    }
    match git.run_with(words, &paths) {
        Ok(_) => Ok(()),
        Err(GitError::Refused { message, code, .. }) if code == Some(SOME_FAILED) => {
            tracing::warn!("some files are not in the snapshot: {message}");
            Ok(())
        }
        Err(error) => Err(error.into()),
    }
}

/// What the index has and should not: what is left out now, and repositories, whoever put them there. Git
/// would ask such a repository for its state, by its own settings.
fn unwanted(git: &StoreGit, scan: &TreeScan) -> Result<Vec<PathBuf>> {
    let list = git.run_with(["ls-files", "--stage", "-z"], b"")?;
    let left_out: HashSet<&Path> = scan.excluded.iter().map(PathBuf::as_path).collect();
    let entries = list.split(|byte| *byte == 0).filter_map(|entry| {
        // Mode, object and stage, a tab, the path.
        let tab = entry.iter().position(|byte| *byte == b'\t')?;
        let (what, path) = entry.split_at_checked(tab)?;
        Some((what, Path::new(OsStr::from_bytes(path.get(1..)?))))
    });
    let unwanted = entries.filter(|(what, path)| {
        what.starts_with(REPOSITORY)
            || is_never_saved(path)
            || path.ancestors().any(|part| left_out.contains(part))
    });
    Ok(unwanted.map(|(_, path)| path.to_owned()).collect())
}

/// Paths for git's standard input.
fn listed(paths: &[PathBuf], prefix: &str) -> Vec<u8> {
    let mut list = Vec::new();
    for path in paths {
        list.extend_from_slice(prefix.as_bytes());
        list.extend_from_slice(path.as_os_str().as_bytes());
        list.push(0);
    }
    list
}

/// Bytes of the files that the project's own rules do not ignore.
fn unignored_bytes(project: &Project, git: &StoreGit) -> Result<u64> {
    let words = [
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ];
    let list = git.run_with(words, b"")?;
    let paths = list
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty());
    let sizes = paths.map(|path| {
        let path = project.directory().join(OsStr::from_bytes(path));
        hermes_fs::symlink_metadata(&path).map_or(0, |meta| meta.len())
    });
    Ok(sizes.sum())
}

/// The latest snapshot of a project.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Tip {
    pub(crate) commit: String,
    pub(crate) tree: String,
}

pub(crate) fn tip(git: &StoreGit, project: &Project) -> Result<Option<Tip>> {
    let reference = project.reference();
    let words = ["for-each-ref", "--format=%(objectname) %(tree)", &reference];
    let line = git.run(words)?;
    Ok(line.split_once(' ').map(|(commit, tree)| Tip {
        commit: commit.to_owned(),
        tree: tree.to_owned(),
    }))
}
