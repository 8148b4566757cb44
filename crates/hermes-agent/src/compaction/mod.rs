//! Shortening a conversation that grows too long for the model's window.
//!
//! The beginning and the end stay, a summary stands for what is between them. Nothing is lost: the
//! rows that are summarised stay in the store, found by search and export. A summary that cannot be
//! had leaves everything as it is, unless the conversation would not fit at all.

mod cut;
mod extract;
mod facts;
mod images;
mod lock;
mod run;
mod summary;
mod threshold;

pub(crate) use run::{Compacted, CompactionState, Need};
