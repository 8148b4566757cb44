//! `hermes memory`: what the agent remembers between sessions.

mod pending;
mod provider;
mod reset;
mod server_tools;
mod setting;
mod status;

use std::process::ExitCode;

use super::{NoArgs, exit, pending_changes};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// Show what is remembered and how much room is left
    Status(status::Args) => status::run,
    /// Set up a memory service, or list those there are
    Setup(provider::SetupArgs) => provider::setup,
    /// Use no memory service, only MEMORY.md and USER.md
    Off(NoArgs) => provider::off,
    /// Delete what is remembered
    Reset(reset::Args) => reset::run,
    /// List changes that wait for approval
    Pending(pending_changes::PendingArgs) => pending::list,
    /// Make changes that wait for approval
    Approve(pending_changes::WhichArgs) => pending::approve,
    /// Discard changes that wait for approval
    Reject(pending_changes::WhichArgs) => pending::reject,
    /// Show or set whether each change needs approval
    Approval(pending_changes::ApprovalArgs) => pending::approval,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(status::run(&status::Args::default(), context)),
    }
}
