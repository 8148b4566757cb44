//! Reading, writing, editing and finding files.

mod masks;
mod patch;
mod read;
mod search;
mod syntax;
mod text_file;
mod write;

pub use patch::PatchTool;
pub(crate) use patch::{edited_text, patched_paths};
pub use read::ReadFileTool;
pub use search::SearchFilesTool;
pub use write::WriteFileTool;
