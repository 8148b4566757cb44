//! A single file under construction: built in a hidden directory beside its place, where other
//! working files may lie too, and renamed at the end. Killed half-way it leaves nothing that looks
//! complete, and what it leaves is swept later.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use hermes_fs::{Result, Staging};

/// Hidden directories begin with this.
const PREFIX: &str = "hermes-output";

/// An output file that does not exist yet.
#[derive(Debug)]
pub(crate) struct PendingOutput {
    target: PathBuf,
    built: PathBuf,
    staging: Staging,
}

impl PendingOutput {
    /// Begins the file that will be at `output`, private from its first byte.
    pub(crate) fn begin(output: &Path) -> Result<(Self, File)> {
        let target = locate(output)?;
        let parent = target.parent().unwrap_or_else(|| Path::new("/"));
        sweep(parent, PREFIX);
        let staging = Staging::begin(parent, PREFIX)?;
        let built = staging.path().join("output");
        let file = hermes_fs::create_new(&built, 0o600)?;
        let pending = Self {
            target,
            built,
            staging,
        };
        Ok((pending, file))
    }

    /// Where the file will be, with its directory resolved.
    pub(crate) fn target(&self) -> &Path {
        &self.target
    }

    /// A directory for working files, gone when this value is.
    pub(crate) fn working_dir(&self) -> &Path {
        self.staging.path()
    }

    /// Gives the file its name, replacing an older one. The caller has synced it. Says its size.
    pub(crate) fn publish(self) -> Result<u64> {
        let size = hermes_fs::symlink_metadata(&self.built)?.len();
        hermes_fs::rename(&self.built, &self.target)?;
        Ok(size)
    }
}

/// The output's path with its directory resolved; the directory must exist.
fn locate(output: &Path) -> Result<PathBuf> {
    let parent = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent,
        _ => Path::new("."),
    };
    let target = hermes_fs::canonicalize(parent)?.join(output.file_name().unwrap_or_default());
    if target.is_dir() {
        let source = io::Error::from(io::ErrorKind::IsADirectory);
        return Err(hermes_fs::Error::io("write", &target)(source));
    }
    Ok(target)
}

/// Removes what killed processes left. In a shared directory that may be another user's, so a
/// failure is noted and nothing more.
pub(crate) fn sweep(parent: &Path, prefix: &str) {
    if let Err(error) = Staging::sweep(parent, prefix) {
        tracing::debug!(%error, "could not remove left-over files");
    }
}
