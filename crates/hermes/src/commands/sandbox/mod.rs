//! `hermes sandbox`: the containers in which agents work.

mod exec;
mod list;
mod prune;
mod reset;
mod rm;
mod stop;

use std::process::ExitCode;
use std::sync::Arc;

use hermes_docker::{DockerHost, keys, manage};
use hermes_runtime::{docker_host, live_environment};

use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{TerminalPerson, confirm};

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the containers of this profile
    List(list::Args),
    /// Run a command in a container
    Exec(exec::Args),
    /// Stop a container; its next use starts it again
    Stop(stop::Args),
    /// Remove a container, so that its next use makes a new one
    Reset(reset::Args),
    /// Remove a container and its files
    Rm(rm::Args),
    /// Remove containers that nobody has used for long
    Prune(prune::Args),
}

/// Which sandbox a verb is about.
#[derive(Debug, clap::Args)]
struct TaskArgs {
    /// The task whose sandbox is meant
    #[arg(long, value_name = "ID", default_value = keys::SHARED)]
    task: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    match &args.verb {
        Verb::List(args) => list::run(args, context),
        Verb::Exec(args) => exec::run(args, context),
        Verb::Stop(args) => stop::run(args, context),
        Verb::Reset(args) => reset::run(args, context),
        Verb::Rm(args) => rm::run(args, context),
        Verb::Prune(args) => prune::run(args, context),
    }
}

/// The engine and the settings, as commands of the profile have them.
fn host(context: &Context) -> Result<Arc<DockerHost>> {
    let person = TerminalPerson::shown_only(&context.printer);
    Ok(docker_host(context, &live_environment(context), &person)?)
}

/// Asks before processes in a sandbox are ended. Without a terminal there is nobody to ask, and the
/// command itself is the answer.
fn confirm_end(context: &Context, host: &DockerHost, args: &TaskArgs) -> Result<()> {
    if args.yes {
        return Ok(());
    }
    let running = manage::processes(host, &args.task)?;
    if running == 0 {
        return Ok(());
    }
    let question = format!(
        "{running} process{} in the sandbox '{}' will end. Go on?",
        if running == 1 { "" } else { "es" },
        args.task
    );
    match confirm(&context.printer, &question)? {
        Some(false) => Err(CommandError::cancelled()),
        Some(true) | None => Ok(()),
    }
}

/// Says what was done, a container a line, or that there was nothing to do.
fn report(context: &Context, task: &str, done: &str, changed: &[manage::Changed]) -> Result<()> {
    if changed.is_empty() {
        context
            .printer
            .line(format!("Nothing to do: no such container of task '{task}'"))?;
    }
    for one in changed {
        context.printer.line(format!("✓ {done} {}", one.name))?;
    }
    Ok(())
}
