//! A directory of the host on its way into a container: looked at, held open, and compared with what
//! the engine has mounted.
//!
//! The engine gets a path and resolves it by itself, later. Whoever can write around that path may
//! have put a link there in between, so what counts is what is in the container.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_policy::{ProtectedHomes, covered_home};

use super::error::{DockerError, Result};
use super::host::DockerHost;
use super::workdir::WORKSPACE;

const LOOK_LIMIT: Duration = Duration::from_secs(10);

/// A directory that is about to be mounted.
#[derive(Debug)]
pub(crate) struct HeldDirectory {
    path: PathBuf,
    /// Keeps the number of the directory from being given to another one.
    directory: File,
}

impl HeldDirectory {
    /// Opens a directory, unless it is one that is never mounted. `path` is without links.
    pub(crate) fn open(path: &Path, protected: &ProtectedHomes) -> Result<Self> {
        let held = Self {
            path: path.to_owned(),
            directory: hermes_fs::open(path)?,
        };
        if let Some(why) = covered_home(path, protected) {
            return Err(DockerError::never_mounted(path, why));
        }
        if !held.is_there() {
            return Err(held.swapped());
        }
        Ok(held)
    }

    /// Whether this directory is what a container has at `/workspace`. An image without the programs
    /// that tell is taken at the word of the path.
    pub(crate) fn check_in(&self, host: &DockerHost, container: &str) -> Result<()> {
        if !self.is_there() {
            return Err(self.swapped());
        }
        if !host.host_paths().is_same() {
            return Ok(());
        }
        let look = format!("cat /proc/sys/kernel/random/boot_id; stat -c %d:%i {WORKSPACE}");
        let args = ["exec", container, "sh", "-c", &look];
        let Ok(answer) = host.engine.ask(&args, LOOK_LIMIT) else {
            return Ok(());
        };
        let own_boot = hermes_proc::identity_of(std::process::id()).map(|own| own.boot_id);
        let mut lines = answer.stdout.lines().map(str::trim);
        // The engine of another kernel, as in a virtual machine, has numbers of its own.
        let is_same_kernel = lines.next().map(str::to_owned) == own_boot;
        match (lines.next(), self.identity()) {
            (Some(there), Some(own)) if is_same_kernel && there != own => Err(self.swapped()),
            _ => Ok(()),
        }
    }

    /// Whether the path still leads to the directory, without a link on the way.
    fn is_there(&self) -> bool {
        let same = hermes_fs::metadata(&self.path).ok();
        let same = same.map(|meta| format!("{}:{}", meta.dev(), meta.ino()));
        same.is_some()
            && same == self.identity()
            && hermes_fs::canonicalize(&self.path).is_ok_and(|real| real == self.path)
    }

    /// Device and number, as `stat` prints them.
    fn identity(&self) -> Option<String> {
        let meta = self.directory.metadata().ok()?;
        Some(format!("{}:{}", meta.dev(), meta.ino()))
    }

    fn swapped(&self) -> DockerError {
        DockerError::Settings {
            message: format!(
                "{} was replaced while it was being mounted; nothing was run",
                self.path.display()
            ),
            hint: "find out who changes that directory, then try again".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use hermes_fs::symlink;

    use super::*;

    #[test]
    fn swapped_directory_is_noticed() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let (work, home) = (root.join("work"), root.join("home"));
        for path in [&work, &home] {
            hermes_fs::create_dir(path, 0o700).unwrap();
        }
        let protected = ProtectedHomes {
            account_homes: vec![home.clone()],
            hermes_homes: Vec::new(),
        };
        let held = HeldDirectory::open(&work, &protected).unwrap();
        assert!(held.is_there());
        hermes_fs::rename(&work, &root.join("moved")).unwrap();
        assert!(!held.is_there());
        symlink(&home, &work).unwrap();
        assert!(!held.is_there());
        let error = HeldDirectory::open(&work, &protected).unwrap_err();
        assert!(error.to_string().contains("home directory"), "{error}");
        hermes_fs::remove_file(&work).unwrap();
        symlink(&root.join("moved"), &work).unwrap();
        let error = HeldDirectory::open(&work, &protected).unwrap_err();
        assert!(error.to_string().contains("was replaced"), "{error}");
    }
}
