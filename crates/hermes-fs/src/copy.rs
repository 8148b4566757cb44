//! Copying files and trees, durable enough to be published by a rename afterwards.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{Directory, Entry, Error, Kind, Result, create_new, fault, remove_file_if_present};

/// Copies one regular file to a path that must not exist, with this mode. A copy that fails leaves
/// nothing there.
pub fn copy_file(from: &Path, to: &Path, mode: u32) -> Result<u64> {
    copy_opened(crate::open(from)?, from, to, mode)
}

/// As [`copy_file`], and the copy says that it was last changed when the original was.
pub fn copy_file_with_time(from: &Path, to: &Path, mode: u32) -> Result<u64> {
    let source = crate::open(from)?;
    let seen = source.metadata().and_then(|seen| seen.modified());
    let time = seen.map_err(Error::io("look at", from))?;
    let target = create_new(to, mode & 0o700)?;
    fill(source, &target, mode)
        .and_then(|bytes| target.set_modified(time).map(|()| bytes))
        .inspect_err(|_| drop(remove_file_if_present(to)))
        .map_err(Error::io("copy", from))
}

/// As [`copy_file`], from a file that was opened, and checked, before. `from` is its name for
/// messages.
pub fn copy_opened(source: File, from: &Path, to: &Path, mode: u32) -> Result<u64> {
    let target = create_new(to, mode & 0o700)?;
    fill(source, &target, mode)
        // The reason for the failure is the news; half a copy that stays is no worse than that.
        .inspect_err(|_| drop(remove_file_if_present(to)))
        .map_err(Error::io("copy", from))
}

fn fill(source: File, target: &File, mode: u32) -> io::Result<u64> {
    let bytes = fill_unsynced(source, target, mode)?;
    target.sync_all()?;
    Ok(bytes)
}

fn fill_unsynced(mut source: File, mut target: &File, mode: u32) -> io::Result<u64> {
    // Between files this is `copy_file_range`: a clone on one disk shares blocks where it can.
    let bytes = io::copy(&mut source, &mut target)?;
    fault::point();
    target.set_permissions(std::fs::Permissions::from_mode(mode))?;
    Ok(bytes)
}

/// Copies what `wanted` lets through (by its path relative to `from`) into the existing directory
/// `to`. Links stay links; sockets, FIFOs and devices are left out. Modes of files are kept for the
/// owner and cleared for others. Both trees are gone through by descriptor: a directory that is
/// swapped for a link meanwhile is an error, not another place.
pub fn copy_tree(
    from: &Path,
    to: &Path,
    wanted: &mut dyn FnMut(&Path, &Entry) -> bool,
) -> Result<()> {
    copy_between(&Directory::open(from)?, &Directory::open(to)?, wanted)
}

/// As [`copy_tree`], between directories that were opened, and checked, before.
pub fn copy_between(
    from: &Directory,
    to: &Directory,
    wanted: &mut dyn FnMut(&Path, &Entry) -> bool,
) -> Result<()> {
    from.walk(&mut |relative, entry| {
        let entry = entry?;
        match entry.kind {
            Kind::Special => return Ok(false),
            _ if !wanted(relative, entry) => return Ok(false),
            Kind::Dir => drop(to.create_directory(relative, 0o700)?),
            Kind::Symlink => to.symlink(&from.read_link(relative)?, relative)?,
            Kind::File => {
                let (source, meta) = from.open_file(relative)?;
                let mode = meta.permissions().mode() & 0o700;
                from.copy_to(source, relative, to, relative, mode)?;
            }
        }
        Ok(true)
    })
}

impl Directory {
    /// Copies a regular file below this directory to a place below another where nothing is yet, with
    /// this mode. A copy that fails leaves nothing there.
    pub fn copy_file(&self, from: &Path, to: &Self, target: &Path, mode: u32) -> Result<u64> {
        let (source, _) = self.open_file(from)?;
        self.copy_to(source, from, to, target, mode)
    }

    /// Puts the content of an opened file where `target` is below this directory, replacing what is
    /// there in one step. `from` is the name of the file for messages.
    pub fn replace_file(&self, source: File, from: &Path, target: &Path, mode: u32) -> Result<()> {
        self.put_in_place(source, from, target, mode, fill)?.sync()
    }

    /// As [`Directory::replace_file`], without waiting for the disk: for many files, with one
    /// [`crate::sync_filesystem`] after them.
    pub fn replace_file_unsynced(
        &self,
        source: File,
        from: &Path,
        target: &Path,
        mode: u32,
    ) -> Result<()> {
        self.put_in_place(source, from, target, mode, fill_unsynced)
            .map(drop)
    }

    /// Gives the directory that holds the file.
    fn put_in_place(
        &self,
        source: File,
        from: &Path,
        target: &Path,
        mode: u32,
        fill: fn(File, &File, u32) -> io::Result<u64>,
    ) -> Result<Self> {
        let (parent, name) = self.holding(target)?;
        // Not made of the name, which may be as long as names can be.
        let hidden = format!(".hermes-{}.tmp", crate::random_hex(12));
        let hidden = Path::new(&hidden);
        let copy = parent.create_file(hidden, mode & 0o700)?;
        fill(source, &copy, mode)
            .map_err(Error::io("copy", from))
            .and_then(|_| {
                rustix::fs::renameat(&parent, hidden, &parent, name)
                    .map_err(|errno| Error::io("rename", &self.path().join(target))(errno.into()))
            })
            // As above.
            .inspect_err(|_| drop(parent.remove_file(hidden)))?;
        fault::point();
        Ok(parent)
    }

    fn copy_to(
        &self,
        source: File,
        from: &Path,
        to: &Self,
        target: &Path,
        mode: u32,
    ) -> Result<u64> {
        let copy = to.create_file(target, mode & 0o700)?;
        fill(source, &copy, mode)
            // The reason for the failure is the news, as above.
            .inspect_err(|_| drop(to.remove_file(target)))
            .map_err(Error::io("copy", &self.path().join(from)))
    }
}
