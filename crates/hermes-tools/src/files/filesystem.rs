//! Where the files of a session are, and what the tools can do with them there.
//!
//! The tools know this vocabulary only. Whether files are on this machine or a remote host is decided
//! once, when a [`Filesystem`] is made; nothing ever falls back from one to the other.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use hermes_terminal::remote::ScriptRunner;

use super::file_ledger::FileStamp;
use super::host::HostFiles;
use super::page::{BinaryFile, PageLines, PageRequest};
use super::remote::RemoteFiles;
use super::search::{FileQuery, SearchResults};
use crate::context::{CallContext, CrossProfile};
use crate::saved_result::ResultToSave;

/// The files a session works with. A cheap handle; clones mean the same files.
#[derive(Clone)]
pub struct Filesystem(Arc<dyn FileOperations>);

impl Filesystem {
    /// The files of this machine.
    pub fn on_this_machine(files: HostFiles) -> Self {
        Self(Arc::new(files))
    }

    /// The files of a remote host.
    pub fn on_remote_host(files: RemoteFiles) -> Self {
        Self(Arc::new(files))
    }

    pub(crate) fn operations(&self) -> &dyn FileOperations {
        self.0.as_ref()
    }
}

impl std::fmt::Debug for Filesystem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Filesystem")
            .field(&self.0.describe())
            .finish()
    }
}

/// What the tools do with files. Paths are absolute; errors are sentences for the model.
pub(crate) trait FileOperations: Send + Sync {
    /// Where the files are, in words.
    fn describe(&self) -> String;

    /// What runs scripts where the files are, unless that is this machine.
    fn script_runner(&self) -> Option<Arc<dyn ScriptRunner>>;

    /// The file of this machine that a path leads to, links followed as far as it exists.
    fn real_path(&self, path: &Path) -> Option<PathBuf>;

    /// The directory `~` stands for.
    fn home(&self, context: &CallContext) -> Result<PathBuf, String>;

    /// Where a write ends, if it is allowed. Looks, changes nothing.
    fn check_write(&self, write: &Writing<'_>) -> Result<PathBuf, String>;

    /// A page of a file for the model; files that hold credentials are refused.
    fn read_page(
        &self,
        path: &Path,
        wanted: PageRequest,
        context: &CallContext,
    ) -> Result<PageRead, String>;

    /// The whole of a file that will be written back; `None` if nothing is there.
    fn load(&self, write: &Writing<'_>, most: u64) -> Result<Option<Loaded>, String>;

    /// Where a file that is not there yet will be; `None` if something is there.
    fn vacant(&self, write: &Writing<'_>) -> Result<Option<PathBuf>, String>;

    /// Replaces or creates a file, whole or not at all, at a path that was checked before. Missing
    /// directories are made; an existing file keeps its mode.
    fn write(&self, target: &Path, bytes: &[u8], context: &CallContext) -> Result<Written, String>;

    /// Keeps a result in a file of our own; says where.
    fn keep(&self, keeping: &ResultToSave<'_>) -> Result<PathBuf, String>;

    /// Removes a file at a path that was checked before.
    fn remove(&self, target: &Path, context: &CallContext) -> Result<(), String>;

    /// Looks for names or contents.
    fn search(&self, query: &FileQuery, context: &CallContext) -> Result<SearchResults, String>;
}

/// A write that is about to be made.
#[derive(Clone, Copy)]
pub(crate) struct Writing<'a> {
    /// As the call means it, links not followed.
    pub(crate) path: &'a Path,
    pub(crate) cross_profile: CrossProfile,
    pub(crate) context: &'a CallContext,
}

/// What is at a path that was to be read.
pub(crate) enum PageRead {
    /// Nothing; these are the names beside it.
    Missing {
        neighbours: Vec<PathBuf>,
    },
    Directory,
    /// A device, a pipe, a socket.
    Special,
    File(FilePage),
}

/// A file of which a page was read.
pub(crate) struct FilePage {
    /// Its path without links.
    pub(crate) real: PathBuf,
    pub(crate) size: u64,
    pub(crate) stamp: FileStamp,
    pub(crate) content: Content,
}

pub(crate) enum Content {
    Text(PageLines),
    BinaryFile(BinaryFile),
}

/// A file that was read for editing.
pub(crate) struct Loaded {
    /// Its path without links, where it is written back to.
    pub(crate) target: PathBuf,
    pub(crate) bytes: Vec<u8>,
    pub(crate) stamp: FileStamp,
}

/// What a write did.
pub(crate) struct Written {
    /// The file without links.
    pub(crate) target: PathBuf,
    pub(crate) dirs_created: bool,
    /// Its state before; `None` if it was not there.
    pub(crate) before: Option<FileStamp>,
    /// Its state now, if it could be looked at.
    pub(crate) after: Option<FileStamp>,
}
