//! Finding files by name and lines by content.

mod query;
mod report;
mod results;
mod tool;
mod walk;

pub(super) use query::{Contents, FileQuery, NameGlob, SearchTarget};
pub(super) use results::{MAX_COUNTED, ResultLine, SearchResults, shown_text};
pub(super) use walk::{SEARCH_TIMEOUT, walk_and_search};

pub use tool::SearchFilesTool;
