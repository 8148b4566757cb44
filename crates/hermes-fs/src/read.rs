//! Reading, with caps: no file of the user's makes us allocate without bound.

use std::fs::{File, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use crate::{Error, Result, fault};

/// Reads at most `limit` bytes; a larger file is an error, found before it is read.
pub fn read_capped(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let file = open(path)?;
    let meta = file.metadata().map_err(Error::io("read", path))?;
    if meta.is_dir() {
        let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
        return Err(Error::io("read", path)(source));
    }
    let too_large = |size| Error::TooLarge {
        path: path.to_owned(),
        size,
        limit,
    };
    if meta.is_file() && meta.len() > limit {
        return Err(too_large(meta.len()));
    }
    // Files of the kernel say that they are empty; without room they are read in tiny pieces.
    let expected = meta.len().clamp(512, limit.max(512));
    let mut bytes = Vec::with_capacity(usize::try_from(expected).unwrap_or(0));
    // The file may grow, or be a pipe whose length says nothing: the cap holds all the same.
    file.take(limit.saturating_add(1))
        .read_to_end(&mut bytes)
        .map_err(Error::io("read", path))?;
    match bytes.len() as u64 {
        size if size > limit => Err(too_large(size)),
        _ => Ok(bytes),
    }
}

/// As [`read_capped`], with `None` for a file that does not exist.
pub fn read_optional(path: &Path, limit: u64) -> Result<Option<Vec<u8>>> {
    match read_capped(path, limit) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) if error.is_not_found() => Ok(None),
        Err(error) => Err(error),
    }
}

/// As [`read_capped`], for UTF-8 text.
pub fn read_text_capped(path: &Path, limit: u64) -> Result<String> {
    String::from_utf8(read_capped(path, limit)?).map_err(|error| Error::NotUtf8 {
        path: path.to_owned(),
        offset: error.utf8_error().valid_up_to(),
    })
}

/// Opens a file for reading. A FIFO without a writer does not block the open.
pub fn open(path: &Path) -> Result<File> {
    open_with(path, OFlags::NONBLOCK, OpenOptions::new().read(true))
}

#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
fn open_with(path: &Path, flags: OFlags, options: &mut OpenOptions) -> Result<File> {
    options
        .custom_flags(flags.bits().cast_signed())
        .open(path)
        .map_err(Error::io("open", path))
}

/// Opens a regular file for reading, never through a symbolic link in the last place, and gives
/// what it is along with it. Whoever swapped the file for a link or a FIFO since it was listed gets
/// an error.
pub fn open_regular(path: &Path) -> Result<(File, Metadata)> {
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW;
    let file = open_with(path, flags, OpenOptions::new().read(true))?;
    let meta = file.metadata().map_err(Error::io("look at", path))?;
    if meta.is_file() {
        Ok((file, meta))
    } else {
        let source = std::io::Error::other("it is not a regular file");
        Err(Error::io("open", path)(source))
    }
}

/// Opens a file for appending, creating it with `mode`; never through a symbolic link.
pub fn open_append(path: &Path, mode: u32) -> Result<File> {
    fault::point();
    let mut options = OpenOptions::new();
    options.append(true).create(true).mode(mode);
    open_with(path, OFlags::NOFOLLOW, &mut options)
}

/// Metadata, following symbolic links.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn metadata(path: &Path) -> Result<Metadata> {
    std::fs::metadata(path).map_err(Error::io("look at", path))
}

/// Metadata of the path itself, be it a link.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn symlink_metadata(path: &Path) -> Result<Metadata> {
    std::fs::symlink_metadata(path).map_err(Error::io("look at", path))
}

/// Whether anything, even a dangling link, has this name.
pub fn exists_no_follow(path: &Path) -> bool {
    symlink_metadata(path).is_ok()
}

/// Absolute path without links.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn canonicalize(path: &Path) -> Result<PathBuf> {
    let failed = |source| Error::io("resolve", path)(source);
    // The C library asks about every part of a path before it finds that the last is not there, which
    // is what most callers hear.
    std::fs::metadata(path).map_err(failed)?;
    std::fs::canonicalize(path).map_err(failed)
}

/// Target of a symbolic link, as written in it.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn read_link(path: &Path) -> Result<PathBuf> {
    std::fs::read_link(path).map_err(Error::io("read the link", path))
}
