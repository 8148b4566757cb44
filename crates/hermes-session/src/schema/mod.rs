//! The schema of `state.db`, shared with the reference.

mod migrate;
mod search_index;
mod shape;
mod stand_in;
mod tables;

pub(crate) use migrate::{bring_up_to_date, is_behind};
pub(crate) use search_index::rebuild as rebuild_search_index;
pub(crate) use shape::Shape;
pub(crate) use stand_in::stand_in;
