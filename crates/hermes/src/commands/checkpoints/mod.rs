//! `hermes checkpoints`: snapshots of files that were taken before an agent changed them.

mod clear;
mod prune;
mod status;

use std::process::ExitCode;

use super::exit;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// Show how much the snapshots take, and of which directories there are some
    Status(status::Args) => status::run,
    /// The same as `status`
    [visible_alias("ls")]
    List(status::Args) => status::run,
    /// Remove old snapshots and those of directories that are gone
    Prune(prune::Args) => prune::run,
    /// Delete all snapshots
    Clear(clear::Args) => clear::run,
    /// Delete what an old version of the Python runtime left
    ClearLegacy(clear::Args) => clear::run_legacy,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(status::run(&status::Args::default(), context)),
    }
}
