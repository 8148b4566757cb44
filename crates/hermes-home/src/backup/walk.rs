//! Going through a root in a fixed order, sorting what is found. Reads names and metadata only.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Kind};

use super::exclude::is_excluded;
use super::{Error, Result, SkippedFile};

/// Something a full backup deals with.
pub(super) enum BackupEntry {
    File(BackupItem),
    /// A directory with nothing to back up in it.
    EmptyDir(BackupItem),
    TooLarge(BackupItem),
    /// Something that cannot be backed up.
    SkippedFile(SkippedFile),
}

/// An entry and what is known of it.
pub(super) struct BackupItem {
    pub(super) relative: PathBuf,
    /// The name it gets in the archive.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) meta: Metadata,
}

/// How to go through a root.
pub(super) struct BackupWalk {
    pub(super) root: Directory,
    /// Our own output and working directory, which may lie inside the root.
    pub(super) own: Vec<PathBuf>,
    pub(super) max_file_bytes: Option<u64>,
}

impl BackupWalk {
    /// Calls `visit` for everything below the root, sorted by name within each directory.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(BackupEntry) -> Result<()>) -> Result<()> {
        // A directory that is only known to exist; forgotten once something is found in it.
        let mut empty: Option<BackupItem> = None;
        self.root.walk(&mut |relative, entry| {
            let skipped = |reason: String| SkippedFile::new(relative, reason);
            let entry = match entry {
                Ok(entry) => entry,
                Err(error) if relative.as_os_str().is_empty() => return Err(Error::from(error)),
                Err(error) => {
                    empty = None;
                    visit(BackupEntry::SkippedFile(skipped(error.to_string())))?;
                    return Ok(false);
                }
            };
            if !matches!(entry.kind, Kind::File | Kind::Dir)
                || is_excluded(relative)
                || self.own.contains(&entry.path)
            {
                return Ok(false);
            }
            let found = match self.item(relative, entry) {
                Ok(Some(item)) => Ok(item),
                Ok(None) => return Ok(false),
                Err(reason) => Err(skipped(reason)),
            };
            if let Some(directory) = empty.take()
                && relative.parent() != Some(&directory.relative)
            {
                visit(BackupEntry::EmptyDir(directory))?;
            }
            match found {
                Ok(item) if entry.kind == Kind::Dir => {
                    empty = Some(item);
                    return Ok(true);
                }
                Ok(item) if self.max_file_bytes.is_some_and(|cap| item.meta.len() > cap) => {
                    visit(BackupEntry::TooLarge(item))?;
                }
                Ok(item) => visit(BackupEntry::File(item))?,
                Err(skipped) => visit(BackupEntry::SkippedFile(skipped))?,
            }
            Ok(false)
        })?;
        empty.map_or(Ok(()), |directory| visit(BackupEntry::EmptyDir(directory)))
    }

    /// `None` for what is gone since it was listed, which is then not part of the home; or why it
    /// cannot be backed up.
    fn item(
        &self,
        relative: &Path,
        entry: &hermes_fs::Entry,
    ) -> std::result::Result<Option<BackupItem>, String> {
        let name = relative
            .to_str()
            .filter(|name| hermes_fs::confined_relative(*name).is_ok())
            .ok_or("an import would refuse its name")?;
        match self.root.metadata(relative) {
            Ok(meta) => Ok(Some(BackupItem {
                relative: relative.to_owned(),
                name: name.to_owned(),
                path: entry.path.clone(),
                meta,
            })),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error.to_string()),
        }
    }
}
