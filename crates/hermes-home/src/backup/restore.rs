//! Bringing a full backup back: what is in it, and the order of an import.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, Staging};
use zip::ZipArchive;

use super::stage::{ImportStage, RestoreLimits, RestoreReport};
use super::{BackupProgress, Error, Result, journal};

/// Directories that people zip instead of their content.
const PREFIXES: [&str; 2] = [".hermes/", "hermes/"];
/// One of these makes a zip a backup.
const MARKERS: [&str; 3] = ["config.yaml", ".env", "state.db"];

/// What to restore into.
#[derive(Debug, Clone, Copy)]
pub struct RestoreRequest<'a> {
    /// The root; made if missing.
    pub root: &'a Path,
    /// Leaves databases alone, because a gateway has them open.
    pub skip_databases: bool,
    pub limits: RestoreLimits,
}

/// What a backup says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Inspection {
    pub files: u64,
    /// Bytes of their content, as announced.
    pub bytes: u64,
    pub databases: u64,
}

/// A backup that has been looked at.
#[derive(Debug)]
pub struct Restore {
    archive: ZipArchive<BufReader<File>>,
    path: PathBuf,
    prefix: &'static str,
}

impl Restore {
    /// Opens a zip and makes sure that it is a backup.
    pub fn open(path: &Path) -> Result<Self> {
        let file = hermes_fs::open(path)?;
        let not_a_zip = |error: zip::result::ZipError| Error::NotAZip {
            path: path.to_owned(),
            detail: error.to_string(),
        };
        let archive = ZipArchive::new(BufReader::new(file)).map_err(not_a_zip)?;
        let prefix = common_prefix(&archive);
        let is_backup = archive.file_names().any(|name| {
            name.is_ok_and(|name| {
                let name = name.strip_prefix(prefix).unwrap_or(&name);
                is_marker(name)
            })
        });
        if !is_backup {
            return Err(Error::NotABackup {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            archive,
            path: path.to_owned(),
            prefix,
        })
    }

    /// What the backup says it holds. Nothing of it has been verified yet.
    pub fn inspect(&self) -> Inspection {
        let mut inspection = Inspection {
            files: 0,
            bytes: 0,
            databases: 0,
        };
        for index in 0..self.archive.len() {
            if let Ok(entry) = self.archive.by_index_data(index)
                && entry.is_file()
            {
                inspection.files += 1;
                inspection.bytes = inspection.bytes.saturating_add(entry.size());
                let database = entry.name_raw().ends_with(b".db");
                inspection.databases += u64::from(database);
            }
        }
        inspection
    }

    /// Restores into the root. Killed at any point, it leaves the old state or, after
    /// [`super::recover`], the new one.
    pub fn apply(
        &mut self,
        request: &RestoreRequest<'_>,
        progress: &mut dyn FnMut(BackupProgress),
    ) -> Result<RestoreReport> {
        self.check_size(request)?;
        hermes_fs::create_dir_all(request.root, 0o700)?;
        let root = hermes_fs::canonicalize(request.root)?;
        let _lock = journal::lock(&root)?;
        let recovered = journal::finish_interrupted(&root)?;
        // What imports left that were killed before they were decided.
        Staging::sweep(&root, "import")?;
        self.check_space(&root)?;

        let staging = Staging::begin(&root, "import")?;
        let unpacked = Directory::open_own(staging.path())?;
        let stage = ImportStage {
            path: &self.path,
            prefix: self.prefix,
            root: &root,
            staging: &unpacked,
            skip_databases: request.skip_databases,
            limits: request.limits,
        };
        let inspection = self.inspect();
        let totals = BackupProgress {
            files_total: inspection.files,
            bytes_total: inspection.bytes,
            ..BackupProgress::default()
        };
        let (journal, mut report) = stage.fill(&mut self.archive, totals, progress)?;
        report.recovered = recovered;
        if journal.moves.is_empty() && journal.directories.is_empty() {
            return Ok(report);
        }
        hermes_fs::sync_filesystem(staging.path())?;
        journal.save(&root)?;
        // The journal owns it now; on an error it must stay for the next run.
        let kept = staging.keep();
        tracing::debug!(staging = %kept.display(), "import decided");
        let outcome = journal.roll_forward(&root)?;
        report.restored = outcome.restored;
        report.skipped.extend(outcome.skipped);
        Ok(report)
    }

    fn check_size(&self, request: &RestoreRequest<'_>) -> Result<()> {
        let found = self.archive.len() as u64;
        if found > request.limits.members {
            return Err(Error::TooManyMembers {
                path: self.path.clone(),
                found,
                limit: request.limits.members,
            });
        }
        Ok(())
    }

    /// Refuses at once what cannot end well. A member that is larger than it says is skipped, so the
    /// disk does not fill up later either.
    fn check_space(&self, root: &Path) -> Result<()> {
        let needed = self.inspect().bytes;
        // A file system that does not tell is tried.
        let Some(available) = hermes_fs::room_in(root) else {
            return Ok(());
        };
        if needed > available {
            return Err(Error::NotEnoughSpace {
                path: self.path.clone(),
                root: root.to_owned(),
                needed,
                available,
            });
        }
        Ok(())
    }
}

/// The directory that holds everything, if it is one of those people zip by habit.
fn common_prefix(archive: &ZipArchive<BufReader<File>>) -> &'static str {
    PREFIXES
        .into_iter()
        .find(|prefix| {
            archive
                .file_names_raw()
                .all(|name| name.starts_with(prefix.as_bytes()))
        })
        .unwrap_or("")
}

/// Whether a member is a file that only homes have, in the root or in a profile.
fn is_marker(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    match parts.as_slice() {
        [name] | ["profiles", _, name] => MARKERS.contains(name),
        _ => false,
    }
}
