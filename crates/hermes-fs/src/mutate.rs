//! Single changes to the file system, each a write point.

use std::fs::{DirBuilder, File, Permissions};
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::fs::{CWD, Mode, OFlags, RenameFlags};

use crate::{Error, Result, fault};

/// Creates one directory that must not exist yet, with exactly this mode.
pub fn create_dir(path: &Path, mode: u32) -> Result<()> {
    fault::point();
    DirBuilder::new()
        .mode(mode & 0o700)
        .create(path)
        .map_err(Error::create("create the directory", path))?;
    fault::point();
    // Not by its name, which may be a link by now where others can write.
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::open(path, flags, Mode::empty())
        .and_then(|directory| rustix::fs::fchmod(directory, Mode::from_raw_mode(mode)))
        .map_err(|errno| Error::io("set the mode of", path)(errno.into()))
}

/// Creates a directory and its missing ancestors, each new one with this mode. An existing
/// directory is left as it is.
pub fn create_dir_all(path: &Path, mode: u32) -> Result<()> {
    if path.as_os_str().is_empty() || path.is_dir() {
        return Ok(());
    }
    if let Some(parent) = path.parent() {
        create_dir_all(parent, mode)?;
    }
    match create_dir(path, mode) {
        // Lost a race to another process that wanted the same directory.
        Err(Error::AlreadyExists { .. }) if path.is_dir() => Ok(()),
        Err(Error::AlreadyExists { .. }) => {
            let source = std::io::Error::from(std::io::ErrorKind::NotADirectory);
            Err(Error::io("create the directory", path)(source))
        }
        other => other,
    }
}

/// Sets the permission bits, following links.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fault::point();
    std::fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(Error::io("set the mode of", path))
}

/// Sets the time of the last change to now; a missing file is created empty with `mode`. Never
/// through a symbolic link in the last place.
pub fn touch(path: &Path, mode: u32) -> Result<()> {
    let file = crate::open_append(path, mode)?;
    file.set_modified(std::time::SystemTime::now())
        .map_err(Error::io("set the time of", path))
}

/// Sets owner and group of the path itself, never of what a link points to.
pub fn chown(path: &Path, uid: u32, gid: u32) -> Result<()> {
    fault::point();
    std::os::unix::fs::lchown(path, Some(uid), Some(gid))
        .map_err(Error::io("change the owner of", path))
}

/// Renames, replacing what is there, and makes it durable.
pub fn rename(from: &Path, to: &Path) -> Result<()> {
    rename_unsynced(from, to)?;
    to.parent().map_or(Ok(()), sync_dir)
}

/// Renames, replacing what is there, without waiting for the disk: for files such as rotated logs
/// whose names need not survive a power cut, and for long series of moves that end in one
/// [`sync_filesystem`].
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn rename_unsynced(from: &Path, to: &Path) -> Result<()> {
    fault::point();
    std::fs::rename(from, to).map_err(Error::io("rename", from))?;
    fault::point();
    Ok(())
}

/// Renames unless the target exists, decided by the kernel in one step.
pub fn rename_exclusive(from: &Path, to: &Path) -> Result<()> {
    fault::point();
    let path = to.to_owned();
    match rustix::fs::renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => {}
        Err(rustix::io::Errno::EXIST) => return Err(Error::AlreadyExists { path }),
        // Some network file systems lack the flag; a check first is the best they allow.
        Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => {
            if crate::exists_no_follow(to) {
                return Err(Error::AlreadyExists { path });
            }
            return rename(from, to);
        }
        Err(errno) => return Err(Error::io("rename", from)(errno.into())),
    }
    fault::point();
    to.parent().map_or(Ok(()), sync_dir)
}

/// Lets two existing entries of one file system change places, in one step.
pub fn exchange(one: &Path, other: &Path) -> Result<()> {
    fault::point();
    rustix::fs::renameat_with(CWD, one, CWD, other, RenameFlags::EXCHANGE)
        .map_err(|errno| Error::io("replace", other)(errno.into()))?;
    fault::point();
    other.parent().map_or(Ok(()), sync_dir)
}

/// Creates a symbolic link at `link` that says `target`.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn symlink(target: &Path, link: &Path) -> Result<()> {
    fault::point();
    std::os::unix::fs::symlink(target, link).map_err(Error::io("link", link))
}

/// Creates a symbolic link at `link` that says `target`, replacing a file or link of that name in
/// one step: whoever looks sees the old one or the new one. The directory it stands in is not
/// synced; a link is made again as easily as it is lost.
pub fn replace_symlink(target: &Path, link: &Path) -> Result<()> {
    loop {
        let temporary = hidden_beside(link);
        match symlink(target, &temporary) {
            Ok(()) => {}
            Err(error) if error.io_kind() == Some(std::io::ErrorKind::AlreadyExists) => continue,
            Err(error) => return Err(error),
        }
        return rename_unsynced(&temporary, link).inspect_err(|_| {
            // The failed rename is what is reported.
            drop(remove_file(&temporary));
        });
    }
}

/// A name for a file that will take the place of `target`. It may be taken by a left-over of a
/// crashed process that had our pid.
pub(crate) fn hidden_beside(target: &Path) -> PathBuf {
    static SERIAL: AtomicU32 = AtomicU32::new(0);
    let name = target.file_name().unwrap_or_default().to_string_lossy();
    let (pid, serial) = (std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
    // `.tmp` at the end: clones, exports and backups leave such files behind.
    target.with_file_name(format!(".{name}.{pid}-{serial}.tmp"))
}

/// Removes a file or link.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn remove_file(path: &Path) -> Result<()> {
    fault::point();
    std::fs::remove_file(path).map_err(Error::io("remove", path))
}

/// Removes a file or link; says whether there was one.
pub fn remove_file_if_present(path: &Path) -> Result<bool> {
    match remove_file(path) {
        Ok(()) => Ok(true),
        Err(error) if error.is_not_found() => Ok(false),
        Err(error) => Err(error),
    }
}

/// Makes renames and creations in a directory durable.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn sync_dir(path: &Path) -> Result<()> {
    let path = if path.as_os_str().is_empty() {
        Path::new(".")
    } else {
        path
    };
    let dir = File::open(path).map_err(Error::io("open", path))?;
    match dir.sync_all() {
        // Some file systems have nothing to sync for a directory and say so.
        Err(source) if source.kind() == std::io::ErrorKind::InvalidInput => Ok(()),
        other => other.map_err(Error::io("sync", path)),
    }
}

/// Makes everything written so far to a file durable, by whoever it was written.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn sync_file(path: &Path) -> Result<()> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    file.sync_data().map_err(Error::io("sync", path))
}

/// Makes everything written so far to the file system of `path` durable: one flush instead of one
/// per file.
#[expect(clippy::disallowed_methods, reason = "this is the wrapper")]
pub fn sync_filesystem(path: &Path) -> Result<()> {
    let dir = File::open(path).map_err(Error::io("open", path))?;
    #[cfg(target_os = "linux")]
    rustix::fs::syncfs(&dir).map_err(|errno| Error::io("sync", path)(errno.into()))?;
    #[cfg(not(target_os = "linux"))]
    {
        rustix::fs::sync();
        dir.sync_all().map_err(Error::io("sync", path))?;
    }
    Ok(())
}
