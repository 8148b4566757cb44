//! `hermes internal`: steps that scripts, services and our own tests call.

mod log;

use std::process::ExitCode;

use crate::context::{Context, PROCESS_SUPERVISOR};
use crate::error::Result;
use crate::reference_docs;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    step: Step,
}

#[derive(Debug, clap::Subcommand)]
enum Step {
    /// Append lines of standard input to the profile's logs
    Log(log::Args),
    /// Fail as a bug would, to test what people then see
    #[cfg(debug_assertions)]
    Panic {
        /// Where it is contained, as in a tool
        #[arg(long)]
        contained: bool,
    },
    /// Print a page of the reference documentation
    ReferencePage {
        /// Which page
        page: reference_docs::Page,
    },
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.step {
        Step::Log(args) => log::run(args, context),
        #[cfg(debug_assertions)]
        Step::Panic { contained } => fail_as_a_bug(*contained, context),
        Step::ReferencePage { page } => {
            context.printer.out(&reference_docs::render(*page))?;
            Ok(ExitCode::SUCCESS)
        }
    }
}

#[cfg(debug_assertions)]
fn fail_as_a_bug(contained: bool, context: &Context) -> Result<ExitCode> {
    #[expect(clippy::panic, reason = "that is its purpose")]
    fn fail() -> Result<ExitCode> {
        panic!("asked for, with OPENAI_API_KEY=sk-abcdefghijklmnopqrstuvwx in it");
    }
    if !contained {
        return fail();
    }
    context.start_logging();
    let failed = hermes_telemetry::contained(fail);
    context
        .printer
        .line(if failed.is_err() { "went on" } else { "no bug" })?;
    Ok(ExitCode::SUCCESS)
}

/// Whether the program is called to supervise a background process. That needs no home and no
/// settings: the whole request comes over standard input.
pub(crate) fn is_process_supervisor(args: &[std::ffi::OsString]) -> bool {
    args == PROCESS_SUPERVISOR
}

/// Supervises one background process until it has ended.
pub(crate) fn supervise_process(printer: &crate::ui::Printer) -> ExitCode {
    match hermes_terminal::background::supervise() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => crate::error::CommandError::environment(format!(
            "a background process could not be supervised: {error}"
        ))
        .report(printer),
    }
}
