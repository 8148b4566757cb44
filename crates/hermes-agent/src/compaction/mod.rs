//! Compacting a conversation that becomes too long for the context window.
//!
//! The beginning and the end stay; a summary replaces the middle. The summarised rows stay in the
//! store, available to search and export. If no summary can be made, nothing changes, unless the
//! conversation would not fit at all.

mod compact;
mod condense;
mod cut;
mod lock;
mod summary;

pub use compact::Compacted;
pub(crate) use compact::Need;
pub use cut::raised_threshold;
