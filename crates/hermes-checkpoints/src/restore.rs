//! Bringing files back as they were in a snapshot. The directory is snapshotted first, and nothing is
//! overwritten that this snapshot does not hold.

use std::collections::HashSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use hermes_fs::{remove_file_if_present, symlink_metadata, without_dots};

use crate::history::Snapshot;
use crate::snapshot::tip;
use crate::store::StoreGit;
use crate::{Error, Limits, Project, Result, Store};

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
        let snapshot = self.find(project, id)?;
        let below = path
            .map(|(path, cwd)| inside(project, path, cwd))
            .transpose()?;
        let reason = format!("pre-rollback snapshot (restoring to {})", snapshot.short_id);
        self.take(project, &reason, limits)?;
        let _lock = self.lock()?;
        let git = self.git_on(project.directory(), &self.index(project))?;
        let now = tip(&git, project)?.ok_or_else(|| Error::NoSnapshot(id.to_owned()))?;
        if let Some(below) = below.as_ref().filter(|below| !below.as_os_str().is_empty()) {
            require(&git, &snapshot, below)?;
        }
        let changes = Changes::between(&git, &now.commit, &snapshot.id, below.as_deref())?;
        let (unsaved, written): (Vec<_>, Vec<_>) = changes
            .back
            .iter()
            .partition(|(path, is_new)| *is_new && changes.would_lose(project.directory(), path));
        self.write(project, &snapshot, &written)?;
        let shown = |path: &Path| path.to_string_lossy().into_owned();
        Ok(Restored {
            snapshot,
            files: written.len(),
            made_since: changes.made_since.iter().map(|path| shown(path)).collect(),
            unsaved: unsaved.iter().map(|(path, _)| shown(path)).collect(),
        })
    }

    fn write(
        &self,
        project: &Project,
        snapshot: &Snapshot,
        files: &[&(PathBuf, bool)],
    ) -> Result<()> {
        if files.is_empty() {
            return Ok(());
        }
        let index = self.index(project).with_extension("restore");
        remove_file_if_present(&index)?;
        let git = self.git_on(project.directory(), &index)?.patient(2);
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
    /// out, also one in the place of a directory.
    fn would_lose(&self, root: &Path, path: &Path) -> bool {
        let mut above: Vec<&Path> = path.ancestors().collect();
        above.pop();
        for part in above.into_iter().rev() {
            let Ok(meta) = symlink_metadata(&root.join(part)) else {
                return false;
            };
            if self.made_since.contains(part) {
                return false;
            }
            if part == path || !meta.is_dir() {
                return true;
            }
        }
        false
    }
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
