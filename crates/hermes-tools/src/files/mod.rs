//! Reading, writing, editing and finding files.

mod elsewhere;
mod filesystem;
mod host;
mod kept_host;
mod ledger;
mod lint;
mod page;
mod patch;
mod patience;
mod read;
mod search;
mod text_file;
mod write;

pub use elsewhere::{PlaceFiles, WriteRules};
pub use filesystem::Filesystem;
pub use host::HostFiles;
pub use ledger::FileLedger;
pub use patch::PatchTool;
pub use read::ReadFileTool;
pub use search::SearchFilesTool;
pub use write::WriteFileTool;
