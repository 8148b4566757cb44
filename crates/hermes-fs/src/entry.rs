//! Directory listings and walks in a stable order.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::{Directory, Result};

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
pub fn read_dir(path: &Path) -> Result<Vec<Entry>> {
    Directory::open(path)?.entries()
}

/// Gets a path below the root of a walk and what is there.
pub(crate) type Visit<'v, E> =
    &'v mut dyn FnMut(&Path, Result<&Entry>) -> std::result::Result<bool, E>;

/// Goes through everything below `root`, a directory before what is in it, sorted by name within
/// each. `visit` gets the path relative to the root and says whether to go into a directory; one
/// that cannot be listed comes as an error, the root with an empty path. Who wants to open what is
/// found, and cannot trust whoever writes there, does so with [`Directory::open_file`].
pub fn walk<E>(root: &Path, visit: Visit<'_, E>) -> std::result::Result<(), E> {
    match Directory::open(root) {
        Ok(root) => root.walk(visit),
        Err(error) => visit(Path::new(""), Err(error)).map(drop),
    }
}
