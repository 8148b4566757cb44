//! A directory held by a descriptor, and everything below it reached from there.
//!
//! Where somebody else can write (a temporary directory, a workspace that a container has mounted), a
//! path means one thing when it is looked at and another when it is used: a directory is swapped for
//! a link in between, and the host's files are read or removed. Here nothing below the directory is
//! named by more than the kernel checks in the same call: no link is followed, and nothing outside is
//! reached.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags};
use rustix::fs::{Gid, Uid};
use rustix::io::Errno;

use crate::entry::Visit;
use crate::{Entry, Error, Kind, Result};

const LISTED: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW);
/// Says what an entry is, be it a link, without opening it.
const LOOKED_AT: OFlags = OFlags::PATH.union(OFlags::NOFOLLOW);
/// Times a lookup is repeated that raced with a rename somewhere in the file system.
const MOST_TRIES: u32 = 128;

/// A directory that stays the same one, whatever becomes of its path.
#[derive(Debug)]
pub struct Directory {
    descriptor: OwnedFd,
    path: PathBuf,
}

impl Directory {
    /// Opens a directory by a path that nobody else can change; links in it are followed.
    pub fn open(path: &Path) -> Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let name = if path.as_os_str().is_empty() {
            Path::new(".")
        } else {
            path
        };
        let opened = rustix::fs::openat(CWD, name, flags, Mode::empty());
        Ok(Self {
            descriptor: opened.map_err(|errno| Error::io("list", path)(errno.into()))?,
            path: path.to_owned(),
        })
    }

    /// Opens a directory in which somebody else may have put something of the same name: it is no
    /// link, belongs to us, and nobody else can write in it. Anything else is
    /// [`Error::NotOurs`].
    pub fn open_own(path: &Path) -> Result<Self> {
        let opened = rustix::fs::openat(CWD, path, LISTED | OFlags::CLOEXEC, Mode::empty());
        let foreign = || Error::NotOurs {
            path: path.to_owned(),
        };
        let descriptor = match opened {
            Ok(descriptor) => descriptor,
            Err(Errno::LOOP | Errno::NOTDIR) => return Err(foreign()),
            Err(errno) => return Err(Error::io("list", path)(errno.into())),
        };
        let directory = Self {
            descriptor,
            path: path.to_owned(),
        };
        directory.is_own()?.then_some(directory).ok_or_else(foreign)
    }

    /// Whether it belongs to us and nobody else can write in it.
    pub(crate) fn is_own(&self) -> Result<bool> {
        let stat = rustix::fs::fstat(&self.descriptor)
            .map_err(|errno| Error::io("look at", &self.path)(errno.into()))?;
        let others = Mode::WGRP | Mode::WOTH;
        let is_ours = stat.st_uid == rustix::process::geteuid().as_raw();
        Ok(is_ours && !Mode::from_raw_mode(stat.st_mode).intersects(others))
    }

    pub(crate) fn into_descriptor(self) -> OwnedFd {
        self.descriptor
    }

    /// The path it was opened by, for messages.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Everything in it, sorted by name.
    pub fn entries(&self) -> Result<Vec<Entry>> {
        self.entries_named(|_| true)
    }

    /// The entries with names that are wanted, sorted by name. Others cost next to nothing.
    pub fn entries_named(&self, wanted: impl Fn(&OsStr) -> bool) -> Result<Vec<Entry>> {
        let failed = |errno: Errno| Error::io("list", &self.path)(errno.into());
        let mut entries = Vec::new();
        for entry in Dir::read_from(&self.descriptor).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name().to_bytes();
            if matches!(name, b"." | b"..") {
                continue;
            }
            let name = OsStr::from_bytes(name);
            if !wanted(name) {
                continue;
            }
            let name = name.to_owned();
            let kind = match entry.file_type() {
                FileType::RegularFile => Kind::File,
                FileType::Directory => Kind::Dir,
                FileType::Symlink => Kind::Symlink,
                FileType::Unknown => match self.metadata(Path::new(&name)) {
                    Ok(meta) => Kind::from(meta.file_type()),
                    Err(error) if error.is_not_found() => continue,
                    Err(error) => return Err(error),
                },
                _ => Kind::Special,
            };
            entries.push(Entry {
                path: self.path.join(&name),
                name,
                kind,
                inode: entry.ino(),
            });
        }
        entries.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(entries)
    }

    /// A directory below this one.
    pub fn directory(&self, relative: &Path) -> Result<Self> {
        Ok(Self {
            descriptor: self.open_below(relative, LISTED, "list")?,
            path: self.path.join(relative),
        })
    }

    /// The directory that holds an entry below this one, and the entry's name in it.
    pub(crate) fn holding<'p>(&self, relative: &'p Path) -> Result<(Self, &'p Path)> {
        let Some(name) = relative.file_name() else {
            return Err(outside(&self.path.join(relative)));
        };
        let parent = relative.parent().unwrap_or(Path::new(""));
        Ok((self.directory(parent)?, Path::new(name)))
    }

    /// Opens a regular file below this directory for reading, and gives what it is along with it.
    pub fn open_file(&self, relative: &Path) -> Result<(File, Metadata)> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK;
        let file = File::from(self.open_below(relative, flags, "open")?);
        let path = self.path.join(relative);
        let meta = file.metadata().map_err(Error::io("look at", &path))?;
        if meta.is_file() {
            return Ok((file, meta));
        }
        let source = std::io::Error::other("it is not a regular file");
        Err(Error::io("open", &path)(source))
    }

    /// What an entry below this directory is, be it a link.
    pub fn metadata(&self, relative: &Path) -> Result<Metadata> {
        let file = File::from(self.open_below(relative, LOOKED_AT, "look at")?);
        let path = self.path.join(relative);
        file.metadata().map_err(Error::io("look at", &path))
    }

    /// Target of a symbolic link below this directory, as written in it.
    pub fn read_link(&self, relative: &Path) -> Result<PathBuf> {
        let (parent, name) = self.holding(relative)?;
        let target = rustix::fs::readlinkat(&parent, name, Vec::new());
        let target = target
            .map_err(|errno| Error::io("read the link", &self.path.join(relative))(errno.into()))?;
        Ok(PathBuf::from(std::ffi::OsStr::from_bytes(
            target.to_bytes(),
        )))
    }

    /// Creates a file below this directory that must not exist yet.
    pub fn create_file(&self, relative: &Path, mode: u32) -> Result<File> {
        let (parent, name) = self.holding(relative)?;
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW;
        crate::fault::point();
        let created = rustix::fs::openat(
            &parent,
            name,
            flags | OFlags::CLOEXEC,
            Mode::from_raw_mode(mode),
        );
        let path = self.path.join(relative);
        let created = created.map_err(|errno| Error::create("create", &path)(errno.into()))?;
        Ok(File::from(created))
    }

    /// Creates a directory below this one that must not exist yet, with exactly this mode.
    pub fn create_directory(&self, relative: &Path, mode: u32) -> Result<Self> {
        let (parent, name) = self.holding(relative)?;
        crate::fault::point();
        let path = self.path.join(relative);
        rustix::fs::mkdirat(&parent, name, Mode::from_raw_mode(mode & 0o700))
            .map_err(|errno| Error::create("create the directory", &path)(errno.into()))?;
        let created = parent.directory(name)?;
        crate::fault::point();
        rustix::fs::fchmod(&created, Mode::from_raw_mode(mode))
            .map_err(|errno| Error::io("set the mode of", &path)(errno.into()))?;
        Ok(created)
    }

    /// Creates the directories that are missing on the way to one below this, and gives it.
    pub fn create_directories(&self, relative: &Path, mode: u32) -> Result<Self> {
        let mut made = PathBuf::new();
        for part in relative.components() {
            made.push(part);
            match self.create_directory(&made, mode) {
                Ok(_) | Err(Error::AlreadyExists { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        self.directory(relative)
    }

    /// Creates a symbolic link below this directory that says `target`, where nothing is yet.
    pub fn symlink(&self, target: &Path, relative: &Path) -> Result<()> {
        let (parent, name) = self.holding(relative)?;
        crate::fault::point();
        rustix::fs::symlinkat(target, &parent, name)
            .map_err(|errno| Error::io("link", &self.path.join(relative))(errno.into()))
    }

    /// Removes a file or link below this directory; says whether there was one.
    pub fn remove_file(&self, relative: &Path) -> Result<bool> {
        let (parent, name) = self.holding(relative)?;
        crate::fault::point();
        match rustix::fs::unlinkat(&parent, name, AtFlags::empty()) {
            Ok(()) => Ok(true),
            Err(Errno::NOENT) => Ok(false),
            Err(errno) => Err(Error::io("remove", &self.path.join(relative))(errno.into())),
        }
    }

    /// Moves an entry below this directory to a place below another, replacing what is there, without
    /// waiting for the disk: see [`crate::rename_unsynced`].
    pub fn rename_unsynced(&self, from: &Path, to: &Self, target: &Path) -> Result<()> {
        let (parent, name) = self.holding(from)?;
        let (new_parent, new_name) = to.holding(target)?;
        crate::fault::point();
        rustix::fs::renameat(&parent, name, &new_parent, new_name)
            .map_err(|errno| Error::io("rename", &self.path.join(from))(errno.into()))?;
        crate::fault::point();
        Ok(())
    }

    /// Sets owner and group of an entry below this directory, of a link itself; of the directory for
    /// an empty path.
    pub fn chown(&self, relative: &Path, uid: u32, gid: u32) -> Result<()> {
        let path = self.path.join(relative);
        let entry = self.open_below(relative, LOOKED_AT, "change the owner of")?;
        crate::fault::point();
        let (uid, gid) = (Uid::from_raw(uid), Gid::from_raw(gid));
        rustix::fs::chownat(&entry, c"", Some(uid), Some(gid), AtFlags::EMPTY_PATH)
            .map_err(|errno| Error::io("change the owner of", &path)(errno.into()))
    }

    /// Sets the permission bits of a regular file below this directory.
    pub fn set_file_mode(&self, relative: &Path, mode: u32) -> Result<()> {
        let (file, _) = self.open_file(relative)?;
        crate::fault::point();
        rustix::fs::fchmod(&file, Mode::from_raw_mode(mode))
            .map_err(|errno| Error::io("set the mode of", &self.path.join(relative))(errno.into()))
    }

    /// Makes changes of names in it durable.
    pub fn sync(&self) -> Result<()> {
        rustix::fs::fsync(&self.descriptor)
            .map_err(|errno| Error::io("sync", &self.path)(errno.into()))
    }

    /// Goes through everything below, as [`crate::walk`] does.
    pub fn walk<E>(&self, visit: Visit<'_, E>) -> std::result::Result<(), E> {
        self.walk_below(Path::new(""), visit)
    }

    fn walk_below<E>(&self, below: &Path, visit: Visit<'_, E>) -> std::result::Result<(), E> {
        let entries = match self.entries() {
            Ok(entries) => entries,
            Err(error) => return visit(below, Err(error)).map(drop),
        };
        for entry in &entries {
            let relative = below.join(&entry.name);
            if !visit(&relative, Ok(entry))? || entry.kind != Kind::Dir {
                continue;
            }
            match self.directory(Path::new(&entry.name)) {
                Ok(directory) => directory.walk_below(&relative, visit)?,
                Err(error) => drop(visit(&relative, Err(error))?),
            }
        }
        Ok(())
    }

    /// Opens something below without following a link and without leaving, in one step where the
    /// kernel can.
    fn open_below(&self, relative: &Path, flags: OFlags, action: &'static str) -> Result<OwnedFd> {
        let path = self.path.join(relative);
        let flags = flags | OFlags::CLOEXEC;
        let is_below = relative
            .components()
            .all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !is_below {
            return Err(outside(&path));
        }
        let name = if relative.as_os_str().is_empty() {
            Path::new(".")
        } else {
            relative
        };
        open_beneath(self.as_fd(), name, flags).map_err(|errno| match errno {
            Errno::LOOP => Error::SymlinkInPath { path },
            // What a link in the last place is to a call that wants a directory.
            Errno::NOTDIR if self.is_link(relative) => Error::SymlinkInPath { path },
            errno => Error::io(action, &path)(errno.into()),
        })
    }

    fn is_link(&self, relative: &Path) -> bool {
        let stat = open_beneath(self.as_fd(), relative, LOOKED_AT | OFlags::CLOEXEC)
            .and_then(rustix::fs::fstat);
        stat.is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink)
    }
}

impl AsFd for Directory {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.descriptor.as_fd()
    }
}

fn outside(path: &Path) -> Error {
    let source = std::io::Error::other("the path leads out of its directory");
    Error::io("open", path)(source)
}

/// Set once the kernel, or a filter of system calls, has refused `openat2`.
static STEP_BY_STEP: AtomicBool = AtomicBool::new(!cfg!(target_os = "linux"));

fn open_beneath(
    directory: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> std::result::Result<OwnedFd, Errno> {
    #[cfg(target_os = "linux")]
    if !STEP_BY_STEP.load(Ordering::Relaxed) {
        use rustix::fs::{ResolveFlags, openat2};
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        for _ in 0..MOST_TRIES {
            match openat2(directory, relative, flags, Mode::empty(), resolve) {
                // Somebody renames things; the kernel cannot be sure that we stayed below.
                Err(Errno::AGAIN) => {}
                // An old kernel, or a container whose filter does not know the call.
                Err(Errno::NOSYS | Errno::PERM) => {
                    STEP_BY_STEP.store(true, Ordering::Relaxed);
                    return open_step_by_step(directory, relative, flags);
                }
                answer => return answer,
            }
        }
        return Err(Errno::AGAIN);
    }
    open_step_by_step(directory, relative, flags)
}

/// One component at a time, none of which may be a link.
pub(crate) fn open_step_by_step(
    directory: BorrowedFd<'_>,
    relative: &Path,
    flags: OFlags,
) -> std::result::Result<OwnedFd, Errno> {
    let mut parts = relative
        .components()
        .filter(|part| matches!(part, Component::Normal(_)))
        .peekable();
    let mut held: Option<OwnedFd> = None;
    while let Some(part) = parts.next() {
        let here = held.as_ref().map_or(directory, AsFd::as_fd);
        let is_last = parts.peek().is_none();
        let flags = if is_last {
            flags | OFlags::NOFOLLOW
        } else {
            OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC
        };
        let name: &Path = part.as_ref();
        held = Some(rustix::fs::openat(here, name, flags, Mode::empty())?);
    }
    match held {
        Some(opened) => Ok(opened),
        None => rustix::fs::openat(directory, ".", flags, Mode::empty()),
    }
}
