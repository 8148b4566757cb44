//! Files of this machine.

use std::io::{BufReader, Read};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use hermes_policy::{PrivateHomes, ReadGuard};
use hermes_terminal::remote::ScriptRunner;

use super::kept;
use super::walk::walk_and_search;
use crate::file_ledger::FileStamp;
use crate::filesystem::deadline::{InterruptibleReader, ReadDeadline};
use crate::filesystem::operations::{
    FileCall, FileContent, FileOperations, Filesystem, Loaded, PageRead, ResultToSave, WriteGuard,
    Writing, Written,
};
use crate::filesystem::page::{BinaryFile, PageLines, PageRequest, SNIFFED_BYTES};
use crate::filesystem::search::{FileQuery, SearchResults};

/// A reading that takes longer ends with what it has.
const READ_TIMEOUT: Duration = Duration::from_secs(30);

/// The files of this machine, as the user of this process sees them.
#[derive(Clone)]
pub struct HostFiles {
    /// `HOME` of the session's commands, for `~`.
    pub home: PathBuf,
    /// Homes whose private places are not shown.
    pub private_homes: PrivateHomes,
    pub write_guard: Arc<dyn WriteGuard>,
}

impl From<HostFiles> for Filesystem {
    fn from(files: HostFiles) -> Self {
        Self::new(files)
    }
}

impl FileOperations for HostFiles {
    fn script_runner(&self) -> Option<Arc<dyn ScriptRunner>> {
        None
    }

    fn real_path(&self, path: &Path) -> Option<PathBuf> {
        Some(real_path(path))
    }

    fn home(&self, _: FileCall<'_>) -> Result<PathBuf, String> {
        Ok(self.home.clone())
    }

    fn check_write(&self, write: &Writing<'_>) -> Result<PathBuf, String> {
        self.write_guard.check(write.path, write.cross_profile)
    }

    fn read_page(
        &self,
        path: &Path,
        wanted: PageRequest,
        call: FileCall<'_>,
    ) -> Result<PageRead, String> {
        if let Some(message) = ReadGuard::here(&self.private_homes).refusal(&real(path)) {
            return Err(message);
        }
        let file = match hermes_fs::open(path) {
            Ok(file) => file,
            Err(error) if error.is_not_found() => {
                return Ok(PageRead::Missing(neighbours(path)));
            }
            Err(error) => return Err(error.to_string()),
        };
        let meta = file
            .metadata()
            .map_err(|error| format!("could not inspect {}: {error}", path.display()))?;
        if meta.is_dir() {
            return Ok(PageRead::Directory);
        }
        if !meta.is_file() {
            return Ok(PageRead::Special);
        }
        let lost = |error| format!("could not read {}: {error}", path.display());
        let mut head = Vec::new();
        (&file)
            .take(SNIFFED_BYTES)
            .read_to_end(&mut head)
            .map_err(lost)?;
        let content = if let Some(data) = BinaryFile::recognised(path, &head) {
            FileContent::Binary(data)
        } else {
            std::io::Seek::rewind(&mut &file).map_err(lost)?;
            let deadline = ReadDeadline::new(call.interrupt, READ_TIMEOUT);
            let mut reader =
                BufReader::with_capacity(64 * 1024, InterruptibleReader::new(file, deadline));
            FileContent::Text(PageLines::read(&mut reader, 1, wanted, path)?)
        };
        Ok(PageRead::File {
            real: real(path),
            size: meta.len(),
            stamp: FileStamp::of(&meta),
            content,
        })
    }

    fn load(&self, write: &Writing<'_>, most: u64) -> Result<Option<Loaded>, String> {
        let target = self.check_write(write)?;
        if !hermes_fs::exists_no_follow(&target) {
            return Ok(None);
        }
        refuse_special(&target)?;
        let meta = hermes_fs::metadata(&target).map_err(|error| error.to_string())?;
        let bytes = hermes_fs::read_capped(&target, most).map_err(|error| error.to_string())?;
        Ok(Some(Loaded {
            target,
            bytes,
            stamp: FileStamp::of(&meta),
        }))
    }

    fn vacant(&self, write: &Writing<'_>) -> Result<Option<PathBuf>, String> {
        let target = self.check_write(write)?;
        Ok((!hermes_fs::exists_no_follow(&target)).then_some(target))
    }

    fn write(&self, target: &Path, bytes: &[u8], _: FileCall<'_>) -> Result<Written, String> {
        refuse_special(target)?;
        let before = FileStamp::now(target);
        let missing = target.parent().filter(|parent| !parent.is_dir());
        let umask = umask();
        if let Some(parent) = missing {
            hermes_fs::create_dir_all(parent, 0o777 & !umask).map_err(|error| error.to_string())?;
        }
        hermes_fs::write_atomic(target, bytes, 0o666 & !umask)
            .map_err(|error| error.to_string())?;
        Ok(Written {
            target: target.to_owned(),
            dirs_created: missing.is_some(),
            before,
            after: FileStamp::now(target),
        })
    }

    fn save(&self, result: &ResultToSave<'_>, call: FileCall<'_>) -> Result<PathBuf, String> {
        kept::save(result, call.session)
    }

    fn remove(&self, target: &Path, _: FileCall<'_>) -> Result<(), String> {
        hermes_fs::remove_file(target).map_err(|error| error.to_string())
    }

    fn search(&self, query: &FileQuery, call: FileCall<'_>) -> Result<SearchResults, String> {
        let root = hermes_fs::canonicalize(&query.root).map_err(|error| {
            if error.is_not_found() {
                query.not_found()
            } else {
                error.to_string()
            }
        })?;
        let guard = ReadGuard::here(&self.private_homes);
        if let Some(message) = guard.refusal(&root) {
            return Err(message);
        }
        Ok(walk_and_search(root, query, &guard, call.interrupt))
    }
}

/// The path without links and `..`, as far as it exists; the rest by its text.
pub fn real_path(path: &Path) -> PathBuf {
    let existing = path
        .ancestors()
        .find_map(|above| Some((above, hermes_fs::canonicalize(above).ok()?)));
    let (above, mut whole) = existing.unwrap_or((Path::new(""), PathBuf::new()));
    for part in path.strip_prefix(above).unwrap_or(path).components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => {
                whole.pop();
            }
            part => whole.push(part),
        }
    }
    whole
}

/// The path without links; what does not exist is judged by its name.
fn real(path: &Path) -> PathBuf {
    hermes_fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// Only regular files are replaced: a rename over a socket or FIFO would take it from its owner.
fn refuse_special(target: &Path) -> Result<(), String> {
    match hermes_fs::metadata(target) {
        Ok(meta) if meta.is_dir() => Err(format!("{} is a directory.", target.display())),
        Ok(meta) if !meta.is_file() => Err(format!(
            "{} is not a regular file and is not replaced.",
            target.display()
        )),
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}

/// What lies in the directory of a path.
fn neighbours(path: &Path) -> Vec<PathBuf> {
    // A directory that cannot be read has no suggestions to offer.
    let entries = path.parent().map(hermes_fs::read_dir);
    let entries = entries.and_then(Result::ok).unwrap_or_default();
    entries.into_iter().map(|entry| entry.path).collect()
}

/// The umask of this process, read from the kernel: the system call can only ask by changing it,
/// for all threads.
fn umask() -> u32 {
    const USUAL: u32 = 0o022;
    let status = hermes_fs::read_text_capped(Path::new("/proc/self/status"), 64 * 1024);
    let line = status.ok().and_then(|text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Umask:"))?;
        u32::from_str_radix(line.trim(), 8).ok()
    });
    line.unwrap_or(USUAL)
}
