//! Copying files and trees, durable enough to be published by a rename afterwards.

use std::fs::File;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use crate::{
    Entry, Error, Kind, Result, create_dir, create_new, fault, read_dir, read_link,
    remove_file_if_present, symlink,
};

/// What a filter says of one entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Copy it (a directory with what the filter lets through below it).
    Copy,
    /// Leave it out, with all below it.
    Skip,
}

/// Decides per entry; gets the path relative to the source root.
pub trait CopyFilter {
    /// Whether `entry` is copied.
    fn verdict(&mut self, relative: &Path, entry: &Entry) -> Verdict;
}

impl<F: FnMut(&Path, &Entry) -> Verdict> CopyFilter for F {
    fn verdict(&mut self, relative: &Path, entry: &Entry) -> Verdict {
        self(relative, entry)
    }
}

/// What a tree copy did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Copied {
    pub files: u64,
    pub bytes: u64,
}

/// Copies one regular file to a path that must not exist, with this mode. A copy that fails leaves
/// nothing there.
pub fn copy_file(from: &Path, to: &Path, mode: u32) -> Result<u64> {
    let source = crate::open(from)?;
    let target = create_new(to, mode & 0o700)?;
    let copied = fill(source, target, mode).map_err(Error::io("copy", from));
    if copied.is_err() {
        // The reason for the failure is the news; half a copy that stays is no worse than that.
        drop(remove_file_if_present(to));
    }
    copied
}

fn fill(mut source: File, mut target: File, mode: u32) -> io::Result<u64> {
    // Between files this is `copy_file_range`: a clone on one disk shares blocks where it can.
    let bytes = io::copy(&mut source, &mut target)?;
    fault::point();
    target.set_permissions(std::fs::Permissions::from_mode(mode))?;
    target.sync_all()?;
    Ok(bytes)
}

/// Copies what is below `from` into the existing directory `to`. Links stay links; sockets, FIFOs
/// and devices are left out. Modes of files are kept for the owner and cleared for others.
pub fn copy_tree(from: &Path, to: &Path, filter: &mut dyn CopyFilter) -> Result<Copied> {
    let mut copied = Copied::default();
    copy_level(from, to, Path::new(""), filter, &mut copied)?;
    Ok(copied)
}

fn copy_level(
    from: &Path,
    to: &Path,
    below: &Path,
    filter: &mut dyn CopyFilter,
    copied: &mut Copied,
) -> Result<()> {
    for entry in read_dir(from)? {
        let relative = below.join(&entry.name);
        if entry.kind == Kind::Special || filter.verdict(&relative, &entry) == Verdict::Skip {
            continue;
        }
        let target = to.join(&entry.name);
        match entry.kind {
            Kind::Dir => {
                create_dir(&target, 0o700)?;
                copy_level(&entry.path, &target, &relative, filter, copied)?;
            }
            Kind::Symlink => {
                symlink(&read_link(&entry.path)?, &target)?;
                copied.files += 1;
            }
            Kind::File => {
                let mode = crate::symlink_metadata(&entry.path)?.permissions().mode() & 0o700;
                copied.bytes += copy_file(&entry.path, &target, mode)?;
                copied.files += 1;
            }
            Kind::Special => {}
        }
    }
    Ok(())
}
