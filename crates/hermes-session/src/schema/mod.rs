//! The schema of `state.db`, shared with the reference.

mod existing;
mod migrate;
mod missing_columns;
mod search_index;
mod tables;

pub(crate) use existing::ExistingSchema;
pub(crate) use migrate::{bring_up_to_date, is_behind};
pub(crate) use missing_columns::add_missing_columns;
pub(crate) use search_index::rebuild as rebuild_search_index;
