//! Turns search text into queries that cannot fail.

mod query;
mod script;

pub(crate) use query::{SearchPlan, plan};
