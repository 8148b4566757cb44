//! Bringing files back as they were in a snapshot. The directory is snapshotted first, and nothing is
//! overwritten that this snapshot does not hold.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use hermes_fs::{
    Directory, Staging, remove_file_if_present, symlink_metadata, sync_filesystem, without_dots,
};

use crate::history::Snapshot;
use crate::placement::Placement;
use crate::snapshot::tip;
use crate::store::StoreGit;
use crate::{Error, Limits, Project, Result, Store};

/// Name of the directory that files are written to before they are put in their place.
const STAGED: &str = "restore";

/// What was restored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub snapshot: Snapshot,
    /// Number of files that were written.
    pub files: usize,
    /// Files made since the snapshot, which are left as they are.
    pub made_since: Vec<String>,
    /// Files that were not restored, since what they hold now is in no snapshot.
    pub unsaved: Vec<String>,
}

impl Store {
    /// Restores a project, or one path in it, to a snapshot. A relative path starts at `cwd`.
    pub fn restore(
        &self,
        project: &Project,
        id: &str,
        path: Option<(&str, &Path)>,
        limits: &Limits,
    ) -> Result<Restored> {
        // One lock for all of it: nobody removes a snapshot that is gone back to.
        let _lock = self.lock()?;
        let snapshot = self.find(project, id)?;
        let below = path
            .map(|(path, cwd)| inside(project, path, cwd))
            .transpose()?;
        let reason = format!("pre-rollback snapshot (restoring to {})", snapshot.short_id);
        self.take_locked(project, &reason, limits)?;
        let git = self.git_on(project.directory(), &self.index(project))?;
        let now = tip(&git, project)?.ok_or_else(|| Error::NoSnapshot(id.to_owned()))?;
        if let Some(below) = below.as_ref().filter(|below| !below.as_os_str().is_empty()) {
            require(&git, &snapshot, below)?;
        }
        let changes = Changes::between(&git, &now.commit, &snapshot.id, below.as_deref())?;
        let (unsaved, wanted): (Vec<_>, Vec<_>) = changes
            .back
            .iter()
            .partition(|back| changes.would_lose(project.directory(), back));
        let files = self.write(project, &snapshot, &wanted, &changes.made_since)?;
        // Not before: the snapshot that was restored may be one of those.
        self.drop_old(project, limits);
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        Ok(Restored {
            snapshot,
            files,
            made_since: changes.made_since.iter().map(|path| shown(path)).collect(),
            unsaved: unsaved.iter().map(|(path, _)| shown(path)).collect(),
        })
    }

    /// Gives how many files were written. Those that can be written are, also if others cannot.
    fn write(
        &self,
        project: &Project,
        snapshot: &Snapshot,
        files: &[&(PathBuf, bool)],
        replaceable: &HashSet<PathBuf>,
    ) -> Result<usize> {
        if files.is_empty() {
            return Ok(0);
        }
        Staging::sweep(self.base(), STAGED)?;
        let staging = Staging::begin(self.base(), STAGED)?;
        self.check_out(staging.path(), project, snapshot, files)?;
        let placement = Placement {
            staged: Directory::open(staging.path())?,
            project: Directory::open(project.directory())?,
            replaceable,
        };
        let mut written = 0;
        let mut failure = None;
        for (path, _) in files {
            match placement.place(path) {
                Ok(is_file) => written += usize::from(is_file),
                Err(error) => failure = failure.or(Some(error)),
            }
        }
        sync_filesystem(project.directory())?;
        match failure {
            Some(error) => Err(error.into()),
            None => Ok(written),
        }
    }

    /// Has git write files of a snapshot to a directory of ours.
    fn check_out(
        &self,
        staging: &Path,
        project: &Project,
        snapshot: &Snapshot,
        files: &[&(PathBuf, bool)],
    ) -> Result<()> {
        let index = self.index(project).with_extension("restore");
        remove_file_if_present(&index)?;
        let git = self.git_on(staging, &index)?.patient(2);
        let mut list = Vec::new();
        for (path, _) in files {
            list.extend_from_slice(path.as_os_str().as_bytes());
            list.push(0);
        }
        let written = git.run(["read-tree", &snapshot.id]).and_then(|_| {
            let words = ["checkout-index", "--force", "--quiet", "-z", "--stdin"];
            git.run_with(words, &list)
        });
        remove_file_if_present(&index)?;
        written?;
        Ok(())
    }
}

/// How a directory differs from a snapshot.
struct Changes {
    /// What the snapshot brings back, and whether the directory as it was saved just now has no such
    /// file.
    back: Vec<(PathBuf, bool)>,
    made_since: HashSet<PathBuf>,
    /// What is not as it was saved just now: changed in between, or not to be read.
    unsaved: HashSet<PathBuf>,
}

impl Changes {
    fn between(git: &StoreGit, now: &str, then: &str, below: Option<&Path>) -> Result<Self> {
        let words = [
            "diff",
            "--no-renames",
            "--name-status",
            "-z",
            now,
            then,
            "--",
        ];
        let output = git.run_with(words, b"")?;
        let mut fields = output.split(|byte| *byte == 0);
        let mut changes = Self {
            back: Vec::new(),
            made_since: HashSet::new(),
            unsaved: unsaved(git)?,
        };
        while let (Some(status), Some(path)) = (fields.next(), fields.next()) {
            let path = PathBuf::from(OsStr::from_bytes(path));
            if below.is_some_and(|below| !path.starts_with(below)) {
                continue;
            }
            match status {
                b"D" => drop(changes.made_since.insert(path)),
                b"A" => changes.back.push((path, true)),
                _ => changes.back.push((path, false)),
            }
        }
        Ok(changes)
    }

    /// Whether writing this file would replace something that was not saved: a file that snapshots leave
    /// out, also one in the place of a directory, or one that has changed meanwhile.
    fn would_lose(&self, root: &Path, (path, is_new): &(PathBuf, bool)) -> bool {
        if !is_new {
            return self.unsaved.contains(path);
        }
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.pop();
        for part in above.into_iter().rev() {
            let Ok(meta) = symlink_metadata(&root.join(part)) else {
                return false;
            };
            if self.made_since.contains(part) {
                return self.unsaved.contains(part);
            }
            if part == path || !meta.is_dir() {
                return true;
            }
        }
        false
    }
}

/// Files that are not as the index has them.
fn unsaved(git: &StoreGit) -> Result<HashSet<PathBuf>> {
    let words = ["diff-files", "--name-only", "-z", "--ignore-submodules=all"];
    let list = git.run_with(words, b"")?;
    let paths = list.split(|byte| *byte == 0);
    let paths = paths.filter(|path| !path.is_empty());
    Ok(paths
        .map(|path| PathBuf::from(OsStr::from_bytes(path)))
        .collect())
}

/// The path below the project that a text means.
fn inside(project: &Project, path: &str, cwd: &Path) -> Result<PathBuf> {
    let whole = without_dots(&cwd.join(path));
    let directory = project.directory();
    // The directory has no links in it; what was typed may have.
    let known = whole.strip_prefix(directory).map(Path::to_owned);
    let resolved = known.or_else(|_| {
        let parent = whole.parent().map(hermes_fs::resolved).unwrap_or_default();
        let resolved = parent.join(whole.file_name().unwrap_or_default());
        resolved.strip_prefix(directory).map(Path::to_owned)
    });
    resolved.map_err(|_| Error::Outside {
        path: PathBuf::from(path),
        directory: directory.to_owned(),
    })
}

fn require(git: &StoreGit, snapshot: &Snapshot, below: &Path) -> Result<()> {
    let mut name = snapshot.id.clone().into_bytes();
    name.push(b':');
    name.extend_from_slice(below.as_os_str().as_bytes());
    let name = OsStr::from_bytes(&name).to_owned();
    let words = [OsStr::new("cat-file").to_owned(), "-e".into(), name];
    git.run(words).map(drop).map_err(|_| Error::NotInSnapshot {
        path: below.to_string_lossy().into_owned(),
        snapshot: snapshot.short_id.clone(),
    })
}
