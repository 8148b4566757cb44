//! Directory listings and walks by path, in a stable order.

use std::ffi::OsStr;
use std::path::Path;

use crate::entry::Visit;
use crate::{Directory, Entry, Result};

/// Lists a directory, sorted by name, so that every walk of ours is repeatable.
pub fn read_dir(path: &Path) -> Result<Vec<Entry>> {
    Directory::open(path)?.entries()
}

/// The entries of a directory with names that are wanted, sorted by name.
pub fn read_dir_named(path: &Path, wanted: impl Fn(&OsStr) -> bool) -> Result<Vec<Entry>> {
    Directory::open(path)?.entries_named(wanted)
}

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
