//! Finding files by name and lines by content.

mod found;
mod query;
mod report;
mod tool;
mod walk;

pub(super) use found::{Found, Line, MAX_COUNTED, shown_text};
pub(super) use query::{Contents, NameGlob, Query, What};
pub(super) use walk::{PATIENCE, walk_and_search};

pub use tool::SearchFilesTool;
