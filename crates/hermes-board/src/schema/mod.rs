//! The schema of a board's database, shared with the reference.

mod migrate;
mod shape;
mod tables;

pub(crate) use migrate::{bring_up_to_date, is_behind, rename_kinds};
pub(crate) use tables::TABLES;
