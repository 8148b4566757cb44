//! Directories that appear all at once: built under a hidden name, published by one rename.

use std::path::{Path, PathBuf};

use crate::{Error, Result, create_dir, remove_tree, rename_exclusive};

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

    /// Where to build.
    pub fn path(&self) -> &Path {
        // `path` is `None` only inside `publish`, which consumes the value.
        self.path.as_deref().unwrap_or(Path::new(""))
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
