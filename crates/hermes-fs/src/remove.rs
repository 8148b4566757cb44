//! Removing trees by descriptor, so that nobody who swaps a directory for a link meanwhile makes us
//! remove what the link leads to.

use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;

use crate::directory::Directory;
use crate::{Error, Result, fault};

/// Tries of [`remove_tree`], for a directory that someone is still writing to.
const REMOVE_TRIES: u32 = 3;
/// Directories deeper than this are moved up first: each level holds a descriptor open, and there are
/// trees with more levels than a process may have descriptors.
const DEEPEST: usize = 64;

/// Removes a directory tree or a file, whichever it is; links inside are removed, not followed.
///
/// The directory that holds it is taken as the path names it; from there on everything goes by
/// descriptor. Directories without write permission get it first. A directory that fills up again
/// while it is removed is tried three times.
pub fn remove_tree(path: &Path) -> Result<()> {
    let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
        let source = std::io::Error::other("it has no name of its own");
        return Err(Error::io("remove", path)(source));
    };
    match Directory::open(parent) {
        Ok(parent) => remove_entry(&parent, Path::new(name)),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

impl Directory {
    /// Removes a file or a whole tree below this directory; links in it are removed, not followed.
    pub fn remove_tree(&self, relative: &Path) -> Result<()> {
        let (parent, name) = match self.holding(relative) {
            Ok(held) => held,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        remove_entry(&parent, name)
    }
}

/// Removes an entry of a directory and everything below it.
fn remove_entry(parent: &Directory, name: &Path) -> Result<()> {
    let mut attempt = 1;
    loop {
        match remove_once(parent, name) {
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error)
                if error.io_kind() == Some(std::io::ErrorKind::DirectoryNotEmpty)
                    && attempt < REMOVE_TRIES =>
            {
                std::thread::sleep(Duration::from_millis(300) * attempt);
                attempt += 1;
            }
            other => return other,
        }
    }
}

fn remove_once(parent: &Directory, name: &Path) -> Result<()> {
    if unlink(parent, name)? {
        return Ok(());
    }
    let top = enterable(parent, name)?;
    let mut removal = Removal {
        top: &top,
        moved_up: 0,
    };
    loop {
        let before = removal.moved_up;
        removal.empty(&top, 0)?;
        // What was moved up is in the directory that was just read.
        if removal.moved_up == before {
            break;
        }
    }
    remove_directory(parent, name)
}

struct Removal<'a> {
    top: &'a Directory,
    moved_up: u64,
}

impl Removal<'_> {
    fn empty(&mut self, directory: &Directory, depth: usize) -> Result<()> {
        for entry in directory.entries()? {
            let removed = self.remove(directory, Path::new(&entry.name), depth);
            match removed {
                // Gone already: that is what we wanted.
                Err(error) if error.is_not_found() => {}
                other => other?,
            }
        }
        Ok(())
    }

    fn remove(&mut self, parent: &Directory, name: &Path, depth: usize) -> Result<()> {
        if unlink(parent, name)? {
            return Ok(());
        }
        let directory = enterable(parent, name)?;
        if depth >= DEEPEST {
            return self.move_up(parent, name);
        }
        self.empty(&directory, depth + 1)?;
        drop(directory);
        remove_directory(parent, name)
    }

    /// Gives a directory a place in the topmost one, which is read again.
    fn move_up(&mut self, parent: &Directory, name: &Path) -> Result<()> {
        loop {
            self.moved_up += 1;
            let target = PathBuf::from(format!(".deep-{}", self.moved_up));
            let flags = rustix::fs::RenameFlags::NOREPLACE;
            let moved =
                rustix::fs::renameat_with(parent.as_fd(), name, self.top.as_fd(), &target, flags);
            match moved {
                Ok(()) => return Ok(()),
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed(parent, name)(errno)),
            }
        }
    }
}

/// Removes an entry that is no directory; `false` if it is one.
fn unlink(parent: &Directory, name: &Path) -> Result<bool> {
    fault::point();
    match rustix::fs::unlinkat(parent, name, AtFlags::empty()) {
        Ok(()) => Ok(true),
        Err(Errno::ISDIR) => Ok(false),
        // What other systems say of a directory.
        Err(Errno::PERM) if parent.metadata(name)?.is_dir() => Ok(false),
        // A directory that we may not write in may hold one that is empty and ours; the removal of
        // the directory itself says what is wrong.
        Err(errno) => Err(failed(parent, name)(errno)),
    }
}

fn remove_directory(parent: &Directory, name: &Path) -> Result<()> {
    fault::point();
    rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR).map_err(failed(parent, name))
}

/// Opens a directory that is about to be emptied; one that its owner may not read, enter or change
/// gets these permissions.
fn enterable(parent: &Directory, name: &Path) -> Result<Directory> {
    let opened = parent.directory(name);
    match opened {
        Err(error) if error.io_kind() == Some(std::io::ErrorKind::PermissionDenied) => {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
            let held = rustix::fs::openat(parent, name, flags, Mode::empty())
                .map_err(failed(parent, name))?;
            // The mode of what is held, not of what has that name by now.
            let held = format!("/proc/self/fd/{}", held.as_raw_fd());
            rustix::fs::chmod(held, Mode::RWXU).map_err(|_| error)?;
            parent.directory(name)
        }
        Ok(directory) => {
            let mode = rustix::fs::fstat(&directory).map(|stat| Mode::from_raw_mode(stat.st_mode));
            if !mode.is_ok_and(|mode| mode.contains(Mode::RWXU)) {
                fault::point();
                // Who may not set it learns from the removal what is wrong.
                let _: rustix::io::Result<()> = rustix::fs::fchmod(&directory, Mode::RWXU);
            }
            Ok(directory)
        }
        other => other,
    }
}

fn failed(parent: &Directory, name: &Path) -> impl FnOnce(Errno) -> Error {
    let path = parent.path().join(name);
    move |errno| Error::io("remove", &path)(errno.into())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test makes what it finds")]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    /// What a removal that is attacked in the worst moment meets: it has seen a directory, and opens
    /// what has that name now.
    #[test]
    fn link_that_took_the_place_of_a_directory_is_not_entered() {
        let dir = tempfile::tempdir().unwrap();
        let victim = dir.path().join("victim");
        std::fs::create_dir(&victim).unwrap();
        symlink(&victim, dir.path().join("link")).unwrap();
        let parent = Directory::open(dir.path()).unwrap();
        for mode in [0o700, 0o500, 0o000] {
            std::fs::set_permissions(&victim, std::fs::Permissions::from_mode(mode)).unwrap();
            assert!(enterable(&parent, Path::new("link")).is_err(), "{mode:o}");
            let now = std::fs::metadata(&victim).unwrap().permissions().mode();
            assert_eq!(now & 0o777, mode);
        }
        assert!(enterable(&parent, Path::new("victim")).is_ok());
    }
}
