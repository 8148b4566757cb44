//! The files of a session: on this machine or on a remote host, behind one set of operations.
//!
//! Whether files are here or there is decided once, when a [`Filesystem`] is made; nothing ever falls
//! back from one to the other.

mod deadline;
mod host;
mod operations;
mod page;
mod pattern;
mod remote;
mod search;

pub use host::{HostFiles, real_path};
pub use operations::{CrossProfile, Filesystem, SessionState, WriteGuard};
pub(crate) use operations::{
    FileCall, FileContent, FileOperations, Loaded, PageRead, ResultToSave, Writing,
};
pub(crate) use page::PageRequest;
pub use remote::{RemoteFiles, WriteRules};
pub(crate) use search::{
    FileQuery, OutputMode, ResultLine, ResultPage, SearchResults, SearchTarget,
};
