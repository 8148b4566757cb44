//! The first half of an import: unpacking and checking, without touching anything of the home.

use std::fs::{File, Permissions};
use std::io::{self, BufReader, Read, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use hermes_fs::{Directory, fault};
use zip::ZipArchive;
use zip::read::ZipFile;

use super::exclude::is_never_restored;
use super::journal::{ImportJournal, Recovered};
use super::{BackupProgress, Error, Result, SkippedFile};
use crate::database::is_database;

/// Files that are private whatever the backup says.
const PRIVATE: [&str; 2] = [".env", "auth.json"];

/// How much a backup may hold.
#[derive(Debug, Clone, Copy)]
pub struct RestoreLimits {
    pub members: u64,
    /// Bytes of one member; a larger one is skipped.
    pub member_bytes: u64,
    /// Bytes of all members; more of them refuse the backup.
    pub total_bytes: u64,
}

impl Default for RestoreLimits {
    fn default() -> Self {
        Self {
            members: 2_000_000,
            member_bytes: 64 << 30,
            total_bytes: 1 << 40,
        }
    }
}

/// What a restore did.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RestoreReport {
    pub restored: u64,
    pub bytes: u64,
    /// Members that should be in place and are not. One is enough to call the restore partial.
    pub skipped: Vec<SkippedFile>,
    /// Members that are never restored: they describe processes, not state.
    pub never_restored: Vec<String>,
    /// An earlier import that was interrupted and has been finished first.
    pub recovered: Option<Recovered>,
}

impl RestoreReport {
    /// Whether everything that should be restored was.
    pub fn is_complete(&self) -> bool {
        self.skipped.is_empty()
    }
}

/// Where to unpack and what to heed.
pub(super) struct ImportStage<'a> {
    /// The backup, for messages.
    pub(super) path: &'a Path,
    /// The directory that holds everything in it.
    pub(super) prefix: &'a str,
    pub(super) root: &'a Path,
    pub(super) staging: &'a Directory,
    pub(super) skip_databases: bool,
    pub(super) limits: RestoreLimits,
}

/// What a member is, by its name.
enum Member {
    File(PathBuf),
    Directory(PathBuf),
    NeverRestored,
}

impl ImportStage<'_> {
    /// Unpacks every member that may be restored. `state` holds the totals.
    pub(super) fn fill(
        &self,
        archive: &mut ZipArchive<BufReader<File>>,
        mut state: BackupProgress,
        progress: &mut dyn FnMut(BackupProgress),
    ) -> Result<(ImportJournal, RestoreReport)> {
        let mut journal = ImportJournal::new(self.staging.path());
        let mut report = RestoreReport::default();
        let mut buffer = vec![0; 64 * 1024];
        for index in 0..archive.len() {
            let shown = match archive.by_index_data(index) {
                Ok(entry) => String::from_utf8_lossy(entry.name_raw()).into_owned(),
                Err(_) => format!("member {index}"),
            };
            let mut member = match archive.by_index(index) {
                Ok(member) => member,
                Err(error) => {
                    let skipped = SkippedFile::new(shown, error.to_string());
                    report.skipped.push(skipped);
                    continue;
                }
            };
            match self.judge(&member) {
                Ok(Member::NeverRestored) => report.never_restored.push(shown),
                Ok(Member::Directory(relative)) => {
                    journal.directories.push(relative.to_string_lossy().into());
                }
                Ok(Member::File(relative)) => {
                    let left = self.limits.total_bytes - report.bytes;
                    match self.unpack(&mut member, &relative, left, &mut buffer)? {
                        Ok(bytes) => {
                            report.bytes += bytes;
                            state.bytes_done += bytes;
                            journal.moves.push(relative.to_string_lossy().into());
                        }
                        Err(reason) => report.skipped.push(SkippedFile::new(shown, reason)),
                    }
                    state.files_done += 1;
                    progress(state);
                }
                Err(reason) => report.skipped.push(SkippedFile::new(shown, reason)),
            }
        }
        Ok((journal, report))
    }

    /// What to do with a member, or why it is skipped.
    fn judge<R: Read>(&self, member: &ZipFile<'_, R>) -> std::result::Result<Member, String> {
        let name = member
            .name()
            .map_err(|error| format!("its name cannot be read: {error}"))?;
        let name = name.strip_prefix(self.prefix).unwrap_or(&name);
        if name.is_empty() && member.is_dir() {
            // The prefix itself: the root exists.
            return Ok(Member::NeverRestored);
        }
        let relative = hermes_fs::confined_relative(name)
            .map_err(|_| "its path points outside the home".to_owned())?;
        if is_never_restored(&relative) {
            return Ok(Member::NeverRestored);
        }
        if member.is_symlink() {
            return Err("it is a symbolic link".to_owned());
        }
        if let Some(objection) = self.target_objection(&relative, member.is_dir()) {
            return Err(objection);
        }
        if member.is_dir() {
            return Ok(Member::Directory(relative));
        }
        if is_database(&relative) && self.skip_databases {
            return Err("a gateway is running and may be writing to it".to_owned());
        }
        Ok(Member::File(relative))
    }

    /// Why nothing can be put at this path of the home, if so. Found now, it costs one file; found
    /// after the decision, it would be too late to say no.
    fn target_objection(&self, relative: &Path, is_dir: bool) -> Option<String> {
        let target = match hermes_fs::join_without_symlinks(self.root, relative) {
            Ok(target) => target,
            Err(error) => return Some(error.to_string()),
        };
        if let Ok(meta) = hermes_fs::symlink_metadata(&target)
            && meta.is_dir() != is_dir
        {
            let what = if meta.is_dir() { "directory" } else { "file" };
            return Some(format!("a {what} of that name is in the way"));
        }
        let existing = target.ancestors().skip(1).find(|path| path.exists())?;
        let wanted = rustix::fs::Access::WRITE_OK | rustix::fs::Access::EXEC_OK;
        if !existing.is_dir() || rustix::fs::access(existing, wanted).is_err() {
            return Some(format!("{} cannot be written to", existing.display()));
        }
        None
    }

    /// The inner error costs this member, the outer one ends the import.
    fn unpack<R: Read>(
        &self,
        member: &mut ZipFile<'_, R>,
        relative: &Path,
        left: u64,
        buffer: &mut [u8],
    ) -> Result<std::result::Result<u64, String>> {
        let target = self.staging.path().join(relative);
        let parent = relative.parent().unwrap_or(Path::new(""));
        let created = self
            .staging
            .create_directories(parent, 0o700)
            .and_then(|_| self.staging.create_file(relative, 0o600));
        let mut file = match created {
            Ok(file) => file,
            Err(error) => return conflict(error),
        };
        let announced = member.size();
        let mut bytes = 0;
        let skip = loop {
            let read = match member.read(buffer) {
                Ok(read) => read,
                // Damage of this member: its checksum is compared at its end.
                Err(error) => break Some(format!("its content is damaged: {error}")),
            };
            let Some(chunk) = buffer.get(..read).filter(|chunk| !chunk.is_empty()) else {
                break None;
            };
            bytes += read as u64;
            if bytes > left {
                return Err(Error::TooLarge {
                    path: self.path.to_owned(),
                    limit: self.limits.total_bytes,
                });
            }
            if bytes > announced {
                break Some(format!("it is larger than the {announced} bytes it says"));
            }
            if bytes > self.limits.member_bytes {
                break Some(format!(
                    "it is larger than {} bytes",
                    self.limits.member_bytes
                ));
            }
            file.write_all(chunk)
                .map_err(hermes_fs::Error::io("write", &target))?;
        };
        fault::point();
        let skip = skip.or_else(|| database_objection(relative, &target));
        if let Some(reason) = skip {
            self.staging.remove_file(relative)?;
            return Ok(Err(reason));
        }
        file.set_permissions(Permissions::from_mode(mode(member, relative)))
            .map_err(hermes_fs::Error::io("set the mode of", &target))?;
        Ok(Ok(bytes))
    }
}

/// A path that another member has taken costs this member; anything else ends the import.
fn conflict(error: hermes_fs::Error) -> Result<std::result::Result<u64, String>> {
    let taken = matches!(error, hermes_fs::Error::AlreadyExists { .. })
        || matches!(
            error.io_kind(),
            Some(io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
        );
    if taken {
        let reason = "the backup contains this path twice, or as both a file and a directory";
        Ok(Err(reason.to_owned()))
    } else {
        Err(error.into())
    }
}

/// A damaged database must not replace one that may be sound.
fn database_objection(relative: &Path, staged: &Path) -> Option<String> {
    if !is_database(relative) {
        return None;
    }
    match hermes_store::quick_check(staged) {
        Ok(hermes_store::Integrity::Sound) => None,
        Ok(hermes_store::Integrity::Damaged(findings)) => {
            let first = findings.first().map_or("", String::as_str);
            Some(format!("the database in the backup is damaged: {first}"))
        }
        Err(hermes_store::Error::NotADatabase { .. }) => {
            Some("it is not an SQLite database".to_owned())
        }
        Err(error) => Some(error.to_string()),
    }
}

/// The stored mode, without set-id bits; private files are private whatever is stored.
fn mode<R: Read>(member: &ZipFile<'_, R>, relative: &Path) -> u32 {
    let name = relative.file_name().unwrap_or_default().to_string_lossy();
    let stored = member.unix_mode().unwrap_or(0) & 0o777;
    if PRIVATE.contains(&name.as_ref()) || is_database(relative) || stored == 0 {
        0o600
    } else {
        stored
    }
}
