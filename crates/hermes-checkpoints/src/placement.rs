//! Files of a snapshot, put in their place. Somebody may be at work in the project meanwhile: everything
//! goes by descriptor, so that no link leads out of it, and a directory is never replaced.

use std::collections::HashSet;
use std::fs::Metadata;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Error};

const READ_BITS: u32 = 0o444;
const EXECUTE_BITS: u32 = 0o111;

/// Where files come from, and where they go.
pub(crate) struct Placement<'a> {
    /// Files as the snapshot has them.
    pub(crate) staged: Directory,
    pub(crate) project: Directory,
    /// Files that a later snapshot holds. They give way to a directory.
    pub(crate) replaceable: &'a HashSet<PathBuf>,
}

impl Placement<'_> {
    /// Puts a file or a link in its place. `false` for a repository, of which a snapshot holds nothing.
    pub(crate) fn place(&self, path: &Path) -> Result<bool, Error> {
        let what = self.staged.metadata(path)?;
        if what.is_dir() {
            return Ok(false);
        }
        self.make_way(path)?;
        let there = match self.project.metadata(path) {
            Ok(there) => Some(there),
            Err(error) if error.is_not_found() => None,
            Err(error) => return Err(error),
        };
        if what.is_symlink() {
            let target = self.staged.read_link(path)?;
            self.project.remove_file(path)?;
            self.project.symlink(&target, path)?;
        } else {
            let (source, what) = self.staged.open_file(path)?;
            let from = self.staged.path().join(path);
            let there = there.filter(Metadata::is_file);
            let mode = mode(&what, there.as_ref());
            self.project
                .replace_file_unsynced(source, &from, path, mode)?;
            if let Some(there) = there {
                self.keep_owner(path, &there);
            }
        }
        Ok(true)
    }

    /// Makes the directories above a file.
    fn make_way(&self, path: &Path) -> Result<(), Error> {
        let Some(parent) = path.parent().filter(|parent| *parent != Path::new("")) else {
            return Ok(());
        };
        let mut above: Vec<&Path> = parent.ancestors().collect();
        // The last one is the project.
        above.pop();
        for part in above.into_iter().rev() {
            match self.project.metadata(part) {
                Ok(there) if there.is_dir() => {}
                Ok(_) if self.replaceable.contains(part) => {
                    self.project.remove_file(part)?;
                    break;
                }
                // Not ours to remove; making the directory says what is wrong.
                Ok(_) => break,
                Err(error) if error.is_not_found() => break,
                Err(error) => return Err(error),
            }
        }
        let mode = self.staged.metadata(parent)?.permissions().mode();
        self.project.create_directories(parent, mode & 0o777)?;
        Ok(())
    }

    /// A file of somebody else stays theirs, where we may see to that.
    fn keep_owner(&self, path: &Path, before: &Metadata) {
        let kept = self.project.metadata(path).and_then(|now| {
            if (now.uid(), now.gid()) == (before.uid(), before.gid()) {
                return Ok(());
            }
            self.project.chown(path, before.uid(), before.gid())
        });
        if let Err(error) = kept {
            tracing::warn!(%error, "a restored file has another owner now");
        }
    }
}

/// Git keeps no more of a mode than whether a file is a program: who may read it is decided by the file
/// that is there.
fn mode(staged: &Metadata, there: Option<&Metadata>) -> u32 {
    let staged = staged.permissions().mode() & 0o777;
    let Some(there) = there else {
        return staged;
    };
    let there = there.permissions().mode() & 0o777;
    if staged & EXECUTE_BITS == 0 {
        there & !EXECUTE_BITS
    } else {
        there | ((there & READ_BITS) >> 2)
    }
}

#[cfg(test)]
#[allow(clippy::disallowed_methods, reason = "tests write files directly")]
mod tests {
    use std::fs;

    use super::*;

    fn placed(project: &Path, staged: &Path, path: &str) -> Result<bool, Error> {
        let placement = Placement {
            staged: Directory::open(staged).unwrap(),
            project: Directory::open(project).unwrap(),
            replaceable: &HashSet::new(),
        };
        placement.place(Path::new(path))
    }

    #[test]
    fn links_and_directories_that_came_meanwhile_stay() {
        let place = tempfile::tempdir().unwrap();
        let at = |name: &str| place.path().join(name);
        for directory in ["staged/dir", "staged/sub", "project/file", "outside"] {
            fs::create_dir_all(at(directory)).unwrap();
        }
        for file in ["staged/dir/x", "staged/file", "staged/sub/y"] {
            fs::write(at(file), "ours").unwrap();
        }
        fs::write(at("outside/x"), "theirs").unwrap();
        fs::write(at("project/file/unsaved"), "theirs").unwrap();
        std::os::unix::fs::symlink(at("outside"), at("project/dir")).unwrap();
        for path in ["dir/x", "file"] {
            placed(&at("project"), &at("staged"), path).unwrap_err();
        }
        for file in ["outside/x", "project/file/unsaved"] {
            assert_eq!(fs::read_to_string(at(file)).unwrap(), "theirs");
        }
        assert_eq!(fs::read_dir(at("outside")).unwrap().count(), 1);
        assert_eq!(fs::read_dir(at("project")).unwrap().count(), 2);
        assert!(placed(&at("project"), &at("staged"), "sub/y").unwrap());
        assert_eq!(fs::read_to_string(at("project/sub/y")).unwrap(), "ours");
        // A repository of its own.
        fs::create_dir(at("staged/repository")).unwrap();
        assert!(!placed(&at("project"), &at("staged"), "repository").unwrap());
    }
}
