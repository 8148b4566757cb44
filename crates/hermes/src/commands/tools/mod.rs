//! `hermes tools`: what an agent can call, and calling it by hand.

mod call;
mod call_lines;
mod list;
mod summary;
mod switch;

use std::process::ExitCode;

use super::exit;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// List the toolsets that are on, by platform
    #[arg(long)]
    summary: bool,
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// List the tools and whether they can be used here
    List(list::Args) => list::run,
    /// Switch toolsets on
    Enable(switch::Args) => switch::enable,
    /// Switch toolsets off
    Disable(switch::Args) => switch::disable,
    /// Run one tool with all guards and print its result
    [after_help("Exits with 0 when the tool did what was asked, also when a command it ran ended \
                      with another code than 0; with 1 when it refused or failed; with 2 when the \
                      call itself is wrong.\n\n\
                      A background process outlives the call that started it: the next call finds \
                      it again. With --stdin it ends with the input, unless \
                      terminal.background_on_exit is keep.")]
    Call(call::Args) => call::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        _ if args.summary => exit(summary::run(context)),
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}
