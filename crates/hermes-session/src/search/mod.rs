//! What people and models type into a search, made into queries that cannot fail.

mod query;
mod script;

pub(crate) use query::{Plan, plan};
