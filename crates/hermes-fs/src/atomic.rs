//! Writing a file so that after a crash at any instruction the old content or the new is there.

use std::fs::{File, OpenOptions, Permissions};
use std::io::Write;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::mutate::{hidden_beside, sync_dir};
use crate::{Error, Result, canonicalize, fault, symlink_metadata};

/// Links followed before we call it a loop.
const MAX_LINKS: usize = 16;

/// Replaces `path` by `bytes`.
///
/// A symbolic link survives and its destination is replaced. An existing file keeps its mode; a new
/// one gets `new_mode`. A device, pipe or socket is left alone: that is an error.
pub fn write_atomic(path: &Path, bytes: &[u8], new_mode: u32) -> Result<()> {
    let target = follow_links(path)?;
    let mode = match symlink_metadata(&target) {
        Ok(meta) => meta.mode() & 0o7777,
        Err(_) => new_mode,
    };
    replace(&target, bytes, mode)
}

/// As [`write_atomic`], but the mode is set even if the file existed with another.
pub fn write_atomic_exact(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    replace(&follow_links(path)?, bytes, mode)
}

/// As [`write_atomic_exact`], but a symbolic link is replaced and not followed.
pub fn write_atomic_in_place(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    replace(path, bytes, mode)
}

/// Creates a file that must not exist yet.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn create_new(path: &Path, mode: u32) -> Result<File> {
    fault::point();
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(mode)
        .open(path)
        .map_err(Error::create("create", path))
}

fn replace(target: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let temporary = Temporary::beside(target, mode)?;
    temporary
        .fill(bytes, mode)
        .map_err(Error::io("write", target))?;
    fault::point();
    temporary.publish(target)?;
    fault::point();
    target.parent().map_or(Ok(()), sync_dir)
}

/// A file beside its target that removes itself unless published.
struct Temporary {
    file: File,
    path: Option<PathBuf>,
}

impl Temporary {
    fn beside(target: &Path, mode: u32) -> Result<Self> {
        loop {
            let temporary = hidden_beside(target);
            // Private until it is complete, whatever the final mode.
            match create_new(&temporary, mode & 0o700) {
                Ok(file) => {
                    return Ok(Self {
                        file,
                        path: Some(temporary),
                    });
                }
                Err(Error::AlreadyExists { .. }) => {}
                // The user knows the target, not our temporary name.
                Err(Error::Io { source, .. }) => return Err(Error::io("write", target)(source)),
                Err(other) => return Err(other),
            }
        }
    }

    fn fill(&self, bytes: &[u8], mode: u32) -> std::io::Result<()> {
        (&self.file).write_all(bytes)?;
        fault::point();
        // The umask may have cut the mode given at creation.
        self.file.set_permissions(Permissions::from_mode(mode))?;
        self.file.sync_all()
    }

    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn publish(mut self, target: &Path) -> Result<()> {
        if let Some(path) = &self.path {
            std::fs::rename(path, target).map_err(Error::io("write", target))?;
            self.path = None;
        }
        Ok(())
    }
}

impl Drop for Temporary {
    #[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
    fn drop(&mut self) {
        if let Some(path) = &self.path {
            // We are already reporting why the write failed; a left-over `.tmp` harms nobody.
            drop(std::fs::remove_file(path));
        }
    }
}

/// Where a write to `path` must land so that links survive. The last target may not exist.
fn follow_links(path: &Path) -> Result<PathBuf> {
    let mut current = path.to_owned();
    for _ in 0..MAX_LINKS {
        match symlink_metadata(&current) {
            Ok(meta) if meta.is_symlink() => {
                let link = crate::read_link(&current)?;
                let parent = current.parent().unwrap_or_else(|| Path::new("/"));
                current = if parent.as_os_str().is_empty() {
                    link
                } else {
                    // `..` in a link counts from the real directory, not the one typed.
                    canonicalize(parent)?.join(link)
                };
            }
            Ok(meta) if meta.is_dir() => {
                let source = std::io::Error::from(std::io::ErrorKind::IsADirectory);
                return Err(Error::io("write", &current)(source));
            }
            // The rename would put a file in the place of `/dev/null`, a pipe or a socket.
            Ok(meta) if !meta.is_file() => {
                let source = std::io::Error::other("it is not a regular file");
                return Err(Error::io("write", &current)(source));
            }
            _ => return Ok(current),
        }
    }
    let source = std::io::Error::from(std::io::ErrorKind::InvalidInput);
    Err(Error::io("follow the links of", path)(source))
}
