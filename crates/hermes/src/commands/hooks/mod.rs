//! `hermes hooks`: commands of the user's that are run at events of conversations.

mod doctor;
mod list;
mod revoke;
mod samples;
mod test;

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
    /// List the hooks of the settings and whether they were accepted
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Run the hooks of an event with a made-up event
    Test(test::Args) => test::run,
    /// Forget that a command was accepted
    [visible_aliases(["remove", "rm"])]
    Revoke(revoke::Args) => revoke::run,
    /// Check that every hook can be run, was accepted and answers as it should
    Doctor(NoArgs) => doctor::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}
