//! What the tools do with files, wherever they are.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_proc::Wake;
use hermes_terminal::remote::ScriptRunner;

use super::page::{BinaryFile, PageLines, PageRequest};
use super::search::{FileQuery, SearchResults};
use crate::file_ledger::FileStamp;

/// Whether a call may write into the home of another profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CrossProfile {
    Allowed,
    Refused,
}

/// Decides where the file tools may write.
pub trait WriteGuard: Send + Sync {
    /// The path that a write to `path` (absolute) changes, symbolic links resolved; or why it is
    /// refused, as a sentence for the model.
    fn check(&self, path: &Path, cross_profile: CrossProfile) -> Result<PathBuf, String>;
}

/// The state of a terminal session that other tools look at.
pub trait SessionState: Send + Sync {
    /// Where commands and relative paths start.
    fn cwd(&self) -> PathBuf;
    /// A variable as a command of the session would see it: an activated environment, `PATH`.
    fn variable(&self, name: &str) -> Option<OsString>;
    /// What was heard of its background processes since the last call, a text for the model each.
    fn take_notices(&self) -> Vec<String> {
        Vec::new()
    }
}

/// The files a session works with. A cheap handle; clones mean the same files.
#[derive(Clone)]
pub struct Filesystem(Arc<dyn FileOperations>);

impl Filesystem {
    pub(super) fn new(files: impl FileOperations + 'static) -> Self {
        Self(Arc::new(files))
    }

    pub(crate) fn operations(&self) -> &dyn FileOperations {
        self.0.as_ref()
    }
}

/// The session an operation belongs to, and what ends the operation early.
#[derive(Clone, Copy)]
pub(crate) struct FileCall<'a> {
    pub(crate) session: &'a dyn SessionState,
    pub(crate) interrupt: &'a Wake,
}

/// What the tools do with files. Paths are absolute; errors are sentences for the model.
pub(crate) trait FileOperations: Send + Sync {
    /// What runs scripts where the files are, unless that is this machine.
    fn script_runner(&self) -> Option<Arc<dyn ScriptRunner>>;

    /// The file of this machine that a path leads to, links followed as far as it exists.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;

    /// The directory `~` stands for.
    fn home(&self, call: FileCall<'_>) -> Result<PathBuf, String>;

    /// Where a write ends, if it is allowed. Looks, changes nothing.
    fn check_write(&self, write: &Writing<'_>) -> Result<PathBuf, String>;

    /// A page of a file for the model; files that hold credentials are refused.
    fn read_page(
        &self,
        path: &Path,
        wanted: PageRequest,
        call: FileCall<'_>,
    ) -> Result<PageRead, String>;

    /// The whole of a file that will be written back; `None` if nothing is there.
    fn load(&self, write: &Writing<'_>, most: u64) -> Result<Option<Loaded>, String>;

    /// Where a file that is not there yet will be; `None` if something is there.
    fn vacant(&self, write: &Writing<'_>) -> Result<Option<PathBuf>, String>;

    /// Replaces or creates a file, whole or not at all, at a path that was checked before. Missing
    /// directories are made; an existing file keeps its mode.
    fn write(&self, target: &Path, bytes: &[u8], call: FileCall<'_>) -> Result<Written, String>;

    /// Saves a result in a file of our own; says where.
    fn save(&self, result: &ResultToSave<'_>, call: FileCall<'_>) -> Result<PathBuf, String>;

    /// Puts a file of this machine's home where commands find it, below `.hermes` of their home and for
    /// them alone. Does nothing where they have the home of this machine.
    fn carry(&self, _relative: &Path, _bytes: &[u8], _call: FileCall<'_>) -> Result<(), String> {
        Ok(())
    }

    /// Removes a file at a path that was checked before.
    fn remove(&self, target: &Path, call: FileCall<'_>) -> Result<(), String>;

    /// Looks for names or contents.
    fn search(&self, query: &FileQuery, call: FileCall<'_>) -> Result<SearchResults, String>;

    /// Where the session works. On a remote host that is `~` until the first command has run.
    fn working_directory(&self, call: FileCall<'_>) -> Result<PathBuf, String> {
        self.below_home(&call.session.cwd(), call)
    }

    /// The path with `~` replaced. `~name`, another user's home to a shell, is a plain file name here.
    fn below_home(&self, path: &Path, call: FileCall<'_>) -> Result<PathBuf, String> {
        let Ok(below) = path.strip_prefix("~") else {
            return Ok(path.to_owned());
        };
        let home = self.home(call)?;
        // Joined with nothing, a path gets a slash at its end.
        Ok(if below.as_os_str().is_empty() {
            home
        } else {
            home.join(below)
        })
    }
}

/// A write that is about to be made.
#[derive(Clone, Copy)]
pub(crate) struct Writing<'a> {
    /// As the call means it, links not followed.
    pub(crate) path: &'a Path,
    pub(crate) cross_profile: CrossProfile,
    pub(crate) call: FileCall<'a>,
}

/// A result to be saved. The names hold nothing that has a meaning in a path.
pub(crate) struct ResultToSave<'a> {
    /// Directory of the conversation.
    pub(crate) directory: String,
    pub(crate) file: String,
    pub(crate) text: &'a str,
}

/// What is at a path that was to be read.
pub(crate) enum PageRead {
    /// Nothing; these are the names beside it.
    Missing(Vec<PathBuf>),
    Directory,
    /// A device, a pipe, a socket.
    Special,
    File {
        /// The path without links.
        real: PathBuf,
        size: u64,
        stamp: FileStamp,
        content: FileContent,
    },
}

/// What is shown of a file.
pub(crate) enum FileContent {
    Text(PageLines),
    Binary(BinaryFile),
}

/// A file that was read for editing.
pub(crate) struct Loaded {
    /// The path without links, where the file is written back to.
    pub(crate) target: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: FileStamp,
}

pub(crate) struct Written {
    /// The file without links.
    pub(crate) target: PathBuf,
    pub(crate) dirs_created: bool,
    /// Its state before; `None` if it was not there.
    pub(crate) before: Option<FileStamp>,
    /// Its state now, if it could be looked at.
    pub(crate) after: Option<FileStamp>,
}
