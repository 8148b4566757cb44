//! Changing parts of files.

mod apply;
mod hunks;
mod matching;
mod plan;
mod replacement;
mod tool;

pub(crate) use hunks::patched_paths;
pub(crate) use plan::edited_text;
pub use tool::PatchTool;
