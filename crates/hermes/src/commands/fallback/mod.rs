//! `hermes fallback`: who is asked when the first provider fails.

mod add;
mod clear;
mod list;
mod remove;

use std::process::ExitCode;

use super::NoArgs;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

verbs! {
    /// List the chain and whether each entry can be used
    List(list::Args) => list::run,
    /// Add a provider and a model to the end of the chain
    Add(add::Args) => add::run,
    /// Take an entry out of the chain
    Remove(remove::Args) => remove::run,
    /// Empty the chain
    Clear(NoArgs) => clear::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    args.verb.run(context)
}
