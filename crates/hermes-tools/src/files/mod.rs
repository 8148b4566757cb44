//! Reading, writing, editing and finding files.

mod deadline;
mod file_ledger;
mod filesystem;
mod host;
mod kept_host;
mod lint;
mod page;
mod patch;
mod read;
mod remote;
mod search;
mod text_file;
mod write;

pub use file_ledger::FileLedger;
pub use filesystem::Filesystem;
pub use host::HostFiles;
pub use patch::PatchTool;
pub use read::ReadFileTool;
pub use remote::{RemoteFiles, WriteRules};
pub use search::SearchFilesTool;
pub use write::WriteFileTool;
