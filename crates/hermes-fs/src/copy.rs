//! Copying files and trees, durable enough to be published by a rename afterwards.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{
    Entry, Error, Kind, Result, create_dir, create_new, fault, read_link, remove_file_if_present,
    symlink, walk,
};

/// Copies one regular file to a path that must not exist, with this mode. A copy that fails leaves
/// nothing there.
pub fn copy_file(from: &Path, to: &Path, mode: u32) -> Result<u64> {
    let source = crate::open(from)?;
    let target = create_new(to, mode & 0o700)?;
    fill(source, target, mode)
        // The reason for the failure is the news; half a copy that stays is no worse than that.
        .inspect_err(|_| drop(remove_file_if_present(to)))
        .map_err(Error::io("copy", from))
}

fn fill(mut source: File, mut target: File, mode: u32) -> io::Result<u64> {
    // Between files this is `copy_file_range`: a clone on one disk shares blocks where it can.
    let bytes = io::copy(&mut source, &mut target)?;
    fault::point();
    target.set_permissions(std::fs::Permissions::from_mode(mode))?;
    target.sync_all()?;
    Ok(bytes)
}

/// Copies what `wanted` lets through (by its path relative to `from`) into the existing directory
/// `to`. Links stay links; sockets, FIFOs and devices are left out. Modes of files are kept for the
/// owner and cleared for others.
pub fn copy_tree(
    from: &Path,
    to: &Path,
    wanted: &mut dyn FnMut(&Path, &Entry) -> bool,
) -> Result<()> {
    walk(from, &mut |relative, entry| {
        let entry = entry?;
        let target = to.join(relative);
        match entry.kind {
            Kind::Special => return Ok(false),
            _ if !wanted(relative, entry) => return Ok(false),
            Kind::Dir => create_dir(&target, 0o700)?,
            Kind::Symlink => symlink(&read_link(&entry.path)?, &target)?,
            Kind::File => {
                let mode = crate::symlink_metadata(&entry.path)?.permissions().mode() & 0o700;
                copy_file(&entry.path, &target, mode)?;
            }
        }
        Ok(true)
    })
}
