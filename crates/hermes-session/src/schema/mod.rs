//! The schema of `state.db`, shared with the reference.

mod migrate;
mod search_index;
mod shape;
mod tables;

pub(crate) use migrate::{bring_up_to_date, is_behind};
pub(crate) use shape::Shape;
