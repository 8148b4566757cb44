//! Directories that appear all at once: built under a hidden name, published by one rename.
//!
//! Whoever builds holds a `flock` on the directory under construction. The kernel lets go of it
//! however the builder ends, so a left-over is told from work in progress without trusting pids,
//! also across containers that share a volume.

use std::fs::{File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use crate::{Directory, Error, Kind, Result, create_dir, remove_tree, rename_exclusive};

/// Between the name and the pid of its maker in the name of a directory under construction.
const INFIX: &str = ".tmp-";

/// A directory under construction. Dropped without [`Staging::publish`], it is removed; left behind
/// by a crash, it is hidden, carries the pid of its maker, and nobody takes it for the real thing.
#[derive(Debug)]
pub struct Staging {
    path: Option<PathBuf>,
    /// Keeps the lock; `None` on file systems that cannot lock a directory.
    _lock: Option<File>,
}

impl Staging {
    /// Starts building `<parent>/.<name>.tmp-<pid>` with mode 0700. A second one at the same time
    /// in the same process gets a number behind the pid.
    pub fn begin(parent: &Path, name: &str) -> Result<Self> {
        static SERIAL: AtomicU32 = AtomicU32::new(0);
        loop {
            let serial = SERIAL.fetch_add(1, Ordering::Relaxed);
            let suffix = if serial == 0 {
                String::new()
            } else {
                format!("-{serial}")
            };
            let pid = std::process::id();
            let path = parent.join(format!(".{name}{INFIX}{pid}{suffix}"));
            match create_dir(&path, 0o700) {
                Ok(()) => {}
                // A left-over of a crashed process that had our pid; the sweep takes it.
                Err(Error::AlreadyExists { .. }) => continue,
                // A sweep took it before it was ours.
                Err(error) if error.is_not_found() && parent.is_dir() => continue,
                Err(error) => return Err(error),
            }
            match Claim::on_path(&path) {
                Claim::Held(lock) => {
                    return Ok(Self {
                        path: Some(path),
                        _lock: lock,
                    });
                }
                // A sweep came between the two steps and is removing it.
                Claim::Lost => {}
            }
        }
    }

    /// Where to build.
    pub fn path(&self) -> &Path {
        // `path` is `None` only inside `publish` and `keep`, which consume the value.
        self.path.as_deref().unwrap_or(Path::new(""))
    }

    /// Keeps the directory under its hidden name: from here on a journal says what becomes of it.
    pub fn keep(mut self) -> PathBuf {
        self.path.take().unwrap_or_default()
    }

    /// Gives the directory its real name, unless that is taken.
    pub fn publish(mut self, target: &Path) -> Result<()> {
        let Some(path) = self.path.take() else {
            return Ok(());
        };
        if let Err(error) = rename_exclusive(&path, target) {
            self.path = Some(path);
            return Err(error);
        }
        Ok(())
    }

    /// Removes what crashed builders of `.<name_prefix>….tmp-<pid>` left in `parent`. What
    /// is being built stays.
    pub fn sweep(parent: &Path, name_prefix: &str) -> Result<()> {
        let parent = match Directory::open(parent) {
            Ok(parent) => parent,
            Err(error) if error.is_not_found() => return Ok(()),
            Err(error) => return Err(error),
        };
        for entry in parent.entries()? {
            let name = entry.name.to_str().unwrap_or_default();
            let wanted = name
                .strip_prefix('.')
                .is_some_and(|name| name.starts_with(name_prefix));
            let (true, Kind::Dir, Some(pid)) = (wanted, entry.kind, maker(name)) else {
                continue;
            };
            // The parent may be anybody's to write in: what is not ours stays.
            let own = parent.directory(Path::new(&entry.name));
            let Some(own) = own.ok().filter(|own| own.is_own().unwrap_or(false)) else {
                continue;
            };
            let _lock = match Claim::on(own, &parent, Path::new(&entry.name)) {
                // Kept while we remove, so that nobody builds in what goes away.
                Claim::Held(Some(lock)) => Some(lock),
                // No locks here: a maker that runs is the only sign of life there is.
                Claim::Held(None) if !Path::new("/proc").join(pid.to_string()).exists() => None,
                Claim::Held(None) | Claim::Lost => continue,
            };
            parent.remove_tree(Path::new(&entry.name))?;
        }
        Ok(())
    }
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            // The reason we are here is being reported; a left-over is hidden and swept later.
            drop(remove_tree(&path));
        }
    }
}

/// The outcome of locking a directory under construction.
enum Claim {
    /// It is ours and still has its name; without a file where directories cannot be locked.
    Held(Option<File>),
    /// Someone else has it, or it is gone.
    Lost,
}

impl Claim {
    fn on_path(path: &Path) -> Self {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Self::Lost;
        };
        let Ok(parent) = Directory::open(parent) else {
            return Self::Lost;
        };
        match parent.directory(Path::new(name)) {
            Ok(directory) => Self::on(directory, &parent, Path::new(name)),
            Err(_) => Self::Lost,
        }
    }

    fn on(directory: Directory, parent: &Directory, name: &Path) -> Self {
        let directory = File::from(directory.into_descriptor());
        match directory.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Self::Lost,
            Err(TryLockError::Error(_)) => return Self::Held(None),
        }
        // Locked, but perhaps after someone removed or renamed it.
        match (directory.metadata(), parent.metadata(name)) {
            (Ok(ours), Ok(named)) if ours.ino() == named.ino() && ours.dev() == named.dev() => {
                Self::Held(Some(directory))
            }
            _ => Self::Lost,
        }
    }
}

/// The pid in the name of a directory under construction; `None` for any other name.
fn maker(name: &str) -> Option<u32> {
    let (_, tail) = name.strip_prefix('.')?.rsplit_once(INFIX)?;
    let (pid, serial) = tail.split_once('-').unwrap_or((tail, "0"));
    serial.parse::<u32>().ok()?;
    pid.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::maker;

    #[test]
    fn only_our_own_names_have_a_maker() {
        assert_eq!(maker(".coder.tmp-12"), Some(12));
        assert_eq!(maker(".a.tmp-1.tmp-12-3"), Some(12));
        for other in [
            "coder.tmp-12",
            ".coder",
            ".coder.tmp-",
            ".c.tmp-x",
            ".c.tmp-1-x",
            ".",
        ] {
            assert_eq!(maker(other), None, "{other}");
        }
    }
}
