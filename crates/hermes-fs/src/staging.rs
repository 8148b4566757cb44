//! Directories that appear all at once: built under a hidden name, published by one rename.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::process::{Pid, test_kill_process};

use crate::{Error, Kind, Result, create_dir, read_dir, remove_tree, rename_exclusive};

/// A pid says nothing across containers that share a volume, so a left-over must also be this old.
const STALE_AFTER: Duration = Duration::from_hours(1);

/// A directory under construction. Dropped without [`Staging::publish`], it is removed; left behind
/// by a crash, it is hidden, carries the pid of its maker, and nobody takes it for the real thing.
#[derive(Debug)]
pub struct Staging {
    path: Option<PathBuf>,
}

impl Staging {
    /// Starts building `<parent>/.<name>.tmp-<pid>` with mode 0700, wiping a left-over.
    pub fn begin(parent: &Path, name: &str) -> Result<Self> {
        let path = parent.join(format!(".{name}.tmp-{}", std::process::id()));
        // A left-over of a crashed process that had our pid.
        remove_tree(&path)?;
        create_dir(&path, 0o700)?;
        Ok(Self { path: Some(path) })
    }

    /// Removes what killed makers of `.<name_prefix>….tmp-<pid>` left in `parent`: only
    /// directories whose process is gone and that nobody has touched for an hour. Says how many.
    pub fn sweep(parent: &Path, name_prefix: &str) -> Result<u32> {
        let prefix = format!(".{name_prefix}");
        let mut swept = 0;
        for entry in read_dir(parent)? {
            let name = entry.name.to_string_lossy();
            let pid = name
                .rsplit_once(".tmp-")
                .and_then(|(_, pid)| pid.parse().ok());
            if let (true, Kind::Dir, Some(pid)) = (name.starts_with(&prefix), entry.kind, pid)
                && is_gone(pid)
                && is_old(&entry.path)
            {
                remove_tree(&entry.path)?;
                swept += 1;
            }
        }
        Ok(swept)
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
}

impl Drop for Staging {
    fn drop(&mut self) {
        if let Some(path) = self.path.take() {
            // The reason we are here is being reported; a left-over is hidden and wiped next time.
            let removed: std::result::Result<(), Error> = remove_tree(&path);
            drop(removed);
        }
    }
}

fn is_gone(pid: i32) -> bool {
    Pid::from_raw(pid).is_none_or(|pid| test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

fn is_old(path: &Path) -> bool {
    crate::symlink_metadata(path)
        .ok()
        .and_then(|meta| meta.modified().ok())
        .and_then(|modified| modified.elapsed().ok())
        .is_some_and(|age| age >= STALE_AFTER)
}
