//! `hermes fallback`: who is asked when the first provider fails.

mod add;
mod clear;
mod list;
mod remove;

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
#[command(arg_required_else_help = true)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the chain and whether each entry can be used
    List(list::Args),
    /// Add a provider and a model to the end of the chain
    Add(add::Args),
    /// Take an entry out of the chain
    Remove(remove::Args),
    /// Empty the chain
    Clear,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Verb::List(args) => list::run(args, context),
        Verb::Add(args) => add::run(args, context),
        Verb::Remove(args) => remove::run(args, context),
        Verb::Clear => clear::run(context),
    }
}
