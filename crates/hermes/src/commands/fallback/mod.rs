//! `hermes fallback`: who is asked when the first provider fails.

mod add;
mod clear;
mod list;
mod remove;

use std::process::ExitCode;

use super::{NoArgs, exit};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// List the chain and show whether each entry can be used
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Add a provider and a model to the end of the chain
    Add(add::Args) => add::run,
    /// Remove an entry from the chain
    [visible_alias("rm")]
    Remove(remove::Args) => remove::run,
    /// Remove all entries from the chain
    Clear(NoArgs) => clear::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}
