//! `hermes fallback`: who is asked when the first provider fails.

mod add;
mod clear;
mod list;
mod remove;

use super::NoArgs;
use crate::context::Context;

verbs! { Context;
    /// List the chain and show whether each entry can be used
    List(list::Args) => list::run,
    /// Add a provider and a model to the end of the chain
    Add(add::Args) => add::run,
    /// Remove an entry from the chain
    Remove(remove::Args) => remove::run,
    /// Remove all entries from the chain
    Clear(NoArgs) => clear::run,
}
