//! `hermes sandbox`: the containers in which agents work, and the sandbox of commands on this machine.

mod exec;
mod list;
mod policy;
mod prune;
mod rm;

use std::process::ExitCode;
use std::sync::Arc;

use hermes_docker::{DockerHost, SHARED_TASK, manage};
use hermes_runtime::{docker_host, live_environment};

use super::exit;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::{TerminalPerson, confirm};

verbs! { Context;
    /// List the containers of this profile
    List(list::Args) => list::run,
    /// Run a command in a container
    Exec(exec::Args) => exec::run,
    /// Stop a container; its next use starts it again
    Stop(TaskArgs) => stop,
    /// Remove a container; its next use creates a new one
    Reset(TaskArgs) => reset,
    /// Remove a container and its files
    Rm(rm::Args) => rm::run,
    /// Remove containers that have not been used for a long time
    Prune(prune::Args) => prune::run,
    /// Show what sandboxed commands on this machine may do
    Policy(policy::Args) => policy::run,
}

/// Which sandbox a verb is about.
#[derive(Debug, clap::Args)]
pub(crate) struct TaskArgs {
    /// The task whose sandbox to use
    #[arg(long, value_name = "ID", default_value = SHARED_TASK)]
    task: String,
    /// Do not ask
    #[arg(short, long)]
    yes: bool,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    context.start_logging();
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}

fn stop(args: &TaskArgs, context: &Context) -> Result<()> {
    let host = host(context)?;
    confirm_end(context, &host, args)?;
    let stopped = manage::stop(&host, &args.task)?;
    report(context, &args.task, "Stopped", &stopped)
}

/// Removes the container; its files on the host stay.
fn reset(args: &TaskArgs, context: &Context) -> Result<()> {
    let host = host(context)?;
    confirm_end(context, &host, args)?;
    let removed = manage::reset(&host, &args.task)?;
    report(context, &args.task, "Removed", &removed)
}

/// The engine and the settings, as commands of the profile have them.
fn host(context: &Context) -> Result<Arc<DockerHost>> {
    let person = TerminalPerson::shown_only(context.printer);
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
        "{running} process{} in the sandbox '{}' will be terminated. Continue?",
        if running == 1 { "" } else { "es" },
        args.task
    );
    match confirm(context.printer, &question)? {
        Some(false) => Err(CommandError::cancelled()),
        Some(true) | None => Ok(()),
    }
}

/// Says what was done, a container a line, or that there was nothing to do.
fn report(context: &Context, task: &str, done: &str, changed: &[manage::Changed]) -> Result<()> {
    if changed.is_empty() {
        context.line(format!(
            "Nothing to do: no such container for task '{task}'"
        ))?;
    }
    for one in changed {
        context.line(format!("✓ {done} {}", one.name))?;
    }
    Ok(())
}
