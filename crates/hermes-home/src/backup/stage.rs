//! The first half of an import: unpacking and checking, without touching anything of the home.

use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};

use hermes_fs::fault;
use zip::read::ZipFile;

use super::exclude::is_never_restored;
use super::restore::{Restore, RestoreLimits};
use super::{BackupProgress, Error, Result, SkippedFile};

/// Files that are private whatever the backup says.
const PRIVATE: [&str; 2] = [".env", "auth.json"];

/// Where to unpack and what to heed.
pub(super) struct ImportStage<'a> {
    pub(super) root: &'a Path,
    pub(super) staging: &'a Path,
    pub(super) skip_databases: bool,
    pub(super) limits: RestoreLimits,
}

/// What is ready to be moved.
#[derive(Debug, Default)]
pub(super) struct Staged {
    pub(super) directories: Vec<String>,
    pub(super) moves: Vec<String>,
    pub(super) skipped: Vec<SkippedFile>,
    pub(super) never_restored: Vec<String>,
    pub(super) bytes: u64,
}

/// What to do with a member, by its name.
enum MemberDecision {
    Restore(PathBuf),
    Directory(PathBuf),
    NeverRestored,
    Skip(String),
}

impl ImportStage<'_> {
    /// Unpacks every member that may be restored.
    pub(super) fn fill(
        &self,
        restore: &mut Restore,
        progress: &mut dyn FnMut(BackupProgress),
    ) -> Result<Staged> {
        let inspection = restore.inspect();
        let mut state = BackupProgress {
            files_total: inspection.files,
            bytes_total: inspection.bytes,
            ..BackupProgress::default()
        };
        let mut staged = Staged::default();
        let prefix = restore.prefix;
        let path = restore.path.clone();
        let mut buffer = vec![0; 64 * 1024];
        for index in 0..restore.archive.len() {
            let shown = match restore.archive.by_index_data(index) {
                Ok(entry) => String::from_utf8_lossy(entry.name_raw()).into_owned(),
                Err(_) => format!("member {index}"),
            };
            let mut member = match restore.archive.by_index(index) {
                Ok(member) => member,
                Err(error) => {
                    staged
                        .skipped
                        .push(SkippedFile::new(shown, error.to_string()));
                    continue;
                }
            };
            match self.judge(&member, prefix) {
                MemberDecision::NeverRestored => staged.never_restored.push(shown),
                MemberDecision::Skip(reason) => {
                    staged.skipped.push(SkippedFile::new(shown, reason));
                }
                MemberDecision::Directory(relative) => {
                    staged
                        .directories
                        .push(relative.to_string_lossy().into_owned());
                }
                MemberDecision::Restore(relative) => {
                    let left = self.limits.total_bytes - staged.bytes;
                    match self.unpack(&mut member, &relative, left, &mut buffer)? {
                        UnpackOutcome::Done(bytes) => {
                            staged.bytes += bytes;
                            staged.moves.push(relative.to_string_lossy().into_owned());
                            state.bytes_done += bytes;
                        }
                        UnpackOutcome::Skip(reason) => {
                            staged.skipped.push(SkippedFile::new(shown, reason));
                        }
                        UnpackOutcome::OverTotal => {
                            return Err(Error::TooLarge {
                                path,
                                limit: self.limits.total_bytes,
                            });
                        }
                    }
                    state.files_done += 1;
                    progress(state);
                }
            }
        }
        Ok(staged)
    }

    fn judge<R: Read>(&self, member: &ZipFile<'_, R>, prefix: &str) -> MemberDecision {
        let name = match member.name() {
            Ok(name) => name,
            Err(error) => return MemberDecision::Skip(format!("its name cannot be read: {error}")),
        };
        let name = name.strip_prefix(prefix).unwrap_or(&name);
        if name.is_empty() && member.is_dir() {
            // The prefix itself: the root exists.
            return MemberDecision::NeverRestored;
        }
        let Ok(relative) = hermes_fs::confined_relative(name) else {
            return MemberDecision::Skip("its path would leave the home".to_owned());
        };
        if is_never_restored(&relative) {
            return MemberDecision::NeverRestored;
        }
        if member.is_symlink() {
            return MemberDecision::Skip("it is a symbolic link".to_owned());
        }
        if let Some(objection) = self.target_objection(&relative, member.is_dir()) {
            return MemberDecision::Skip(objection);
        }
        if member.is_dir() {
            return MemberDecision::Directory(relative);
        }
        if is_database(&relative) && self.skip_databases {
            return MemberDecision::Skip(
                "a gateway is running and may be writing to it".to_owned(),
            );
        }
        MemberDecision::Restore(relative)
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

    fn unpack<R: Read>(
        &self,
        member: &mut ZipFile<'_, R>,
        relative: &Path,
        left: u64,
        buffer: &mut [u8],
    ) -> Result<UnpackOutcome> {
        let target = self.staging.join(relative);
        if let Some(parent) = target.parent()
            && let Err(error) = hermes_fs::create_dir_all(parent, 0o700)
        {
            return conflict(error);
        }
        let mut file = match hermes_fs::create_new(&target, 0o600) {
            Ok(file) => file,
            Err(error) => return conflict(error),
        };
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
                return Ok(UnpackOutcome::OverTotal);
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
        drop(file);
        let skip = skip.or_else(|| database_objection(relative, &target));
        if let Some(reason) = skip {
            hermes_fs::remove_file(&target)?;
            return Ok(UnpackOutcome::Skip(reason));
        }
        hermes_fs::set_mode(&target, mode(member, relative))?;
        Ok(UnpackOutcome::Done(bytes))
    }
}

enum UnpackOutcome {
    Done(u64),
    Skip(String),
    OverTotal,
}

/// A path that another member has taken costs this member; anything else ends the import.
fn conflict(error: hermes_fs::Error) -> Result<UnpackOutcome> {
    let taken = matches!(error, hermes_fs::Error::AlreadyExists { .. })
        || matches!(
            error.io_kind(),
            Some(io::ErrorKind::NotADirectory | io::ErrorKind::InvalidFilename)
        );
    if taken {
        Ok(UnpackOutcome::Skip(
            "the backup holds this path twice, or as a file and a directory".to_owned(),
        ))
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

fn is_database(relative: &Path) -> bool {
    relative.extension().is_some_and(|ext| ext == "db")
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
