//! A look over a directory before it is snapshotted: how much there is, and what git must not touch.

use std::path::{Path, PathBuf};

use hermes_fs::{Kind, exists_no_follow, symlink_metadata, walk};

use crate::exclude::{is_excluded_directory, is_secret};

/// Most files and directories of a snapshot, those that are always left out not counted.
pub(crate) const MOST_ENTRIES: usize = 50_000;

/// What a directory holds.
#[derive(Debug, Default)]
pub(crate) struct TreeScan {
    /// Paths below the directory that are left out: large files, secrets, repositories of their own.
    pub(crate) excluded: Vec<PathBuf>,
    /// Bytes of the files that may be saved.
    pub(crate) bytes: u64,
    pub(crate) entries: usize,
}

impl TreeScan {
    /// Goes through a directory, following no link. `None` if there is too much in it.
    pub(crate) fn of(root: &Path, max_file_bytes: u64) -> Option<Self> {
        let mut found = Self::default();
        let walked = walk(root, &mut |relative, entry| {
            // What cannot be listed, git cannot save either, and says so.
            let Ok(entry) = entry else {
                return Ok(false);
            };
            found.entries += 1;
            if found.entries > MOST_ENTRIES {
                return Err(());
            }
            let name = entry.name.to_string_lossy();
            match entry.kind {
                Kind::Dir if is_excluded_directory(&name) => return Ok(false),
                Kind::Dir if is_repository(&entry.path) => {
                    found.excluded.push(relative.to_owned());
                    return Ok(false);
                }
                Kind::File => found.file(relative, &entry.path, &name, max_file_bytes),
                Kind::Symlink if is_secret(&name) => found.excluded.push(relative.to_owned()),
                Kind::Dir | Kind::Symlink | Kind::Special => {}
            }
            Ok(true)
        });
        walked.is_ok().then_some(found)
    }

    fn file(&mut self, relative: &Path, path: &Path, name: &str, most: u64) {
        let bytes = symlink_metadata(path).map_or(0, |meta| meta.len());
        if is_secret(name) || (most > 0 && bytes > most) {
            self.excluded.push(relative.to_owned());
        } else {
            self.bytes = self.bytes.saturating_add(bytes);
        }
    }
}

/// Whether git would look at the repository in this directory, and so at what its settings ask for.
fn is_repository(directory: &Path) -> bool {
    let inside = directory.join(".git");
    match symlink_metadata(&inside) {
        Ok(meta) if meta.is_dir() => exists_no_follow(&inside.join("HEAD")),
        Ok(_) => true,
        Err(_) => false,
    }
}
