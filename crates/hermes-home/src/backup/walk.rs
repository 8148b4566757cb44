//! Going through a root in a fixed order, sorting what is found. Reads names and metadata only.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use hermes_fs::Kind;

use super::exclude::is_excluded;
use super::{Result, SkippedFile};

/// Something a full backup deals with.
pub(super) enum BackupEntry {
    File(BackupItem),
    Database(BackupItem),
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
    pub(super) root: PathBuf,
    /// Our own output and working directory, which may lie inside the root.
    pub(super) own: Vec<PathBuf>,
    pub(super) max_file_bytes: Option<u64>,
}

impl BackupWalk {
    /// Calls `visit` for everything below the root, sorted by name within each directory.
    pub(super) fn visit(&self, visit: &mut dyn FnMut(BackupEntry) -> Result<()>) -> Result<()> {
        // A root that cannot be listed is an error; below it, it is one more thing that failed.
        for entry in hermes_fs::read_dir(&self.root)? {
            self.entry(&entry, Path::new(""), visit)?;
        }
        Ok(())
    }

    /// Says whether the entry, or something below it, was found.
    fn entry(
        &self,
        entry: &hermes_fs::Entry,
        below: &Path,
        visit: &mut dyn FnMut(BackupEntry) -> Result<()>,
    ) -> Result<bool> {
        let relative = below.join(&entry.name);
        let backed_up = matches!(entry.kind, Kind::File | Kind::Dir)
            && !is_excluded(&relative)
            && !self.own.contains(&entry.path);
        if !backed_up {
            return Ok(false);
        }
        let Some(name) = relative.to_str().filter(|name| restorable(name)) else {
            let reason = "an import would refuse its name";
            visit(BackupEntry::SkippedFile(SkippedFile::new(relative, reason)))?;
            return Ok(true);
        };
        let name = name.to_owned();
        let meta = match hermes_fs::symlink_metadata(&entry.path) {
            Ok(meta) => meta,
            // Gone since it was listed: then it is not part of the home.
            Err(error) if error.is_not_found() => return Ok(false),
            Err(error) => {
                visit(BackupEntry::SkippedFile(SkippedFile::new(
                    relative,
                    error.to_string(),
                )))?;
                return Ok(true);
            }
        };
        let item = BackupItem {
            relative,
            name,
            path: entry.path.clone(),
            meta,
        };
        if entry.kind == Kind::Dir {
            return self.directory(item, visit).map(|()| true);
        }
        let is_database = item.relative.extension().is_some_and(|ext| ext == "db");
        visit(match self.max_file_bytes {
            Some(cap) if item.meta.len() > cap => BackupEntry::TooLarge(item),
            _ if is_database => BackupEntry::Database(item),
            _ => BackupEntry::File(item),
        })?;
        Ok(true)
    }

    fn directory(
        &self,
        item: BackupItem,
        visit: &mut dyn FnMut(BackupEntry) -> Result<()>,
    ) -> Result<()> {
        let entries = match hermes_fs::read_dir(&item.path) {
            Ok(entries) => entries,
            Err(error) => {
                return visit(BackupEntry::SkippedFile(SkippedFile::new(
                    item.relative,
                    error.to_string(),
                )));
            }
        };
        let mut anything = false;
        for entry in &entries {
            anything |= self.entry(entry, &item.relative, visit)?;
        }
        if anything {
            Ok(())
        } else {
            visit(BackupEntry::EmptyDir(item))
        }
    }
}

fn restorable(name: &str) -> bool {
    hermes_fs::confined_relative(name).is_ok()
}
