//! `hermes fallback`: who is asked when the first provider fails.

mod add;
mod clear;
mod list;
mod remove;

use super::NoArgs;
use crate::context::Context;

verbs! { Context;
    /// List the chain and whether each entry can be used
    List(list::Args) => list::run,
    /// Add a provider and a model to the end of the chain
    Add(add::Args) => add::run,
    /// Take an entry out of the chain
    Remove(remove::Args) => remove::run,
    /// Empty the chain
    Clear(NoArgs) => clear::run,
}
