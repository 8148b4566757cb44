//! Directory listings and walks in a stable order.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Error, Result};

/// What an entry is, without following links.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    File,
    Dir,
    Symlink,
    /// A socket, FIFO or device: nothing of these is ever copied or archived.
    Special,
}

impl From<std::fs::FileType> for Kind {
    fn from(file_type: std::fs::FileType) -> Self {
        if file_type.is_symlink() {
            Self::Symlink
        } else if file_type.is_dir() {
            Self::Dir
        } else if file_type.is_file() {
            Self::File
        } else {
            Self::Special
        }
    }
}

/// One entry of a directory.
#[derive(Debug, Clone)]
pub struct Entry {
    pub name: OsString,
    pub path: PathBuf,
    pub kind: Kind,
}

/// Lists a directory, sorted by name, so that every walk of ours is repeatable.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn read_dir(path: &Path) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for entry in std::fs::read_dir(path).map_err(Error::io("list", path))? {
        let entry = entry.map_err(Error::io("list", path))?;
        let file_type = entry
            .file_type()
            .map_err(Error::io("look at", &entry.path()))?;
        entries.push(Entry {
            name: entry.file_name(),
            path: entry.path(),
            kind: Kind::from(file_type),
        });
    }
    entries.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(entries)
}

/// Gets a path below the root of a walk and what is there.
type Visit<'v, E> = &'v mut dyn FnMut(&Path, Result<&Entry>) -> std::result::Result<bool, E>;

/// Goes through everything below `root`, a directory before what is in it, sorted by name within
/// each. `visit` gets the path relative to the root and says whether to go into a directory; one
/// that cannot be listed comes as an error, the root with an empty path.
pub fn walk<E>(root: &Path, visit: Visit<'_, E>) -> std::result::Result<(), E> {
    walk_below(root, Path::new(""), visit)
}

fn walk_below<E>(
    directory: &Path,
    below: &Path,
    visit: Visit<'_, E>,
) -> std::result::Result<(), E> {
    let entries = match read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return visit(below, Err(error)).map(drop),
    };
    for entry in &entries {
        let relative = below.join(&entry.name);
        if visit(&relative, Ok(entry))? && entry.kind == Kind::Dir {
            walk_below(&entry.path, &relative, visit)?;
        }
    }
    Ok(())
}
