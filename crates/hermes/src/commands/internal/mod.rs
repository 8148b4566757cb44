//! `hermes internal`: steps that scripts, services and our own tests call.

mod complete;
mod cron_agent;
mod log;
mod reconcile;
mod registrar;

use std::process::ExitCode;

use super::exit;
use crate::context::{Context, PROCESS_SUPERVISOR};
use crate::error::{CommandError, Result};
use crate::reference_docs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Verb::CronAgent => cron_agent::run(context),
        verb => exit(verb.run(context)),
    }
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// Print what may stand where the cursor is
    Complete(complete::Args),
    /// Work as the agent of a scheduled job, which standard input describes
    CronAgent,
    /// Append lines from standard input to the profile's logs
    Log(log::Args),
    /// Give every profile its service slot of s6, as a container does when it boots
    Reconcile(reconcile::Args),
    /// Add and remove service slots of s6 for the user of the gateways, as root
    Registrar(registrar::Args),
    /// Fail as a bug would, to test what users see
    #[cfg(debug_assertions)]
    Panic {
        /// Contain the failure, as a tool call does
        #[arg(long)]
        contained: bool,
    },
    /// Print a page of the reference documentation
    ReferencePage {
        /// Which page
        page: reference_docs::Page,
    },
}

impl Verb {
    fn run(&self, context: &Context) -> Result<()> {
        match self {
            Self::Complete(args) => complete::run(args, context),
            Self::Log(args) => log::run(args, context),
            Self::Reconcile(args) => reconcile::run(args, context),
            Self::Registrar(args) => registrar::run(args, context),
            Self::CronAgent => cron_agent::run(context).map(|_| ()),
            #[cfg(debug_assertions)]
            Self::Panic { contained } => fail_as_a_bug(*contained, context),
            Self::ReferencePage { page } => {
                context.out(&reference_docs::render(*page, (context.command_tree)()))
            }
        }
    }
}

#[cfg(debug_assertions)]
fn fail_as_a_bug(contained: bool, context: &Context) -> Result<()> {
    #[expect(clippy::panic, reason = "that is its purpose")]
    fn fail() -> Result<()> {
        panic!("asked for, with OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwx in it");
    }
    if !contained {
        return fail();
    }
    context.start_logging();
    let failed = hermes_telemetry::contained(fail);
    context.line(if failed.is_err() { "went on" } else { "no bug" })
}

/// Whether the program is called to supervise a background process. That needs no home and no
/// settings: the whole request comes over standard input.
pub(crate) fn is_process_supervisor(args: &[std::ffi::OsString]) -> bool {
    args == PROCESS_SUPERVISOR
}

/// Supervises one background process until it has ended.
pub(crate) fn supervise_process() -> Result<ExitCode> {
    hermes_terminal::background::supervise().map_err(|error| {
        CommandError::environment(format!("could not supervise a background process: {error}"))
    })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the program is called to build the namespaces of a sandbox.
pub(crate) fn is_namespace_builder(args: &[std::ffi::OsString]) -> bool {
    args == hermes_proc::sandbox::BUILDER_ARGUMENTS
}

/// Builds the namespaces that standard input asks for.
pub(crate) fn build_namespaces() -> Result<ExitCode> {
    hermes_proc::sandbox::build_namespaces().map_err(|error| {
        CommandError::environment(format!("could not build the sandbox: {error}"))
    })?;
    Ok(ExitCode::SUCCESS)
}
