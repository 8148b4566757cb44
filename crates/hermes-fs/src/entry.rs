//! What a listing says of an entry.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use crate::Result;

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
    /// The number of what it names, on the file system of the directory.
    pub inode: u64,
}

/// Gets a path below the root of a walk and what is there.
pub(crate) type Visit<'v, E> =
    &'v mut dyn FnMut(&Path, Result<&Entry>) -> std::result::Result<bool, E>;
