//! Finding files by name and lines by content.

mod found;
mod query;
mod report;
mod tool;
mod walk;

pub(super) use found::Found;
pub(super) use query::Query;
pub(super) use walk::walk_and_search;

pub use tool::SearchFilesTool;
