//! Changing parts of files.

mod apply;
mod hunks;
mod matching;
mod plan;
mod replacement;
mod tool;

pub use tool::PatchTool;
