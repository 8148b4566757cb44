//! `hermes addons`: optional backends in environments of their own.

mod call;
mod check;
mod gc;
mod install;
mod list;
mod logs;
mod progress;
mod python;
mod refresh;
mod remove;
mod restart;
mod show;
mod verify;

use std::process::ExitCode;

use hermes_addons::{AddonError, Addons};
use hermes_runtime::addons_of;
use serde_json::{Value, json};

use super::exit;
use crate::context::Context;
use crate::error::{CommandError, Result};
pub(crate) use progress::install_with_progress;
pub(crate) use refresh::refresh_addons;

verbs! { Context;
    /// List optional backends and whether they are installed
    List(list::Args) => list::run,
    /// Show everything about one feature
    [visible_alias("info")]
    Show(show::Args) => show::run,
    /// Install features
    Install(install::Args) => install::run,
    /// Remove features
    Remove(remove::Args) => remove::run,
    /// Compare installed features with what was recorded when they were installed
    Verify(verify::Args) => verify::run,
    /// Remove old versions and what interrupted installs left behind
    Gc(gc::Args) => gc::run,
    /// Check the store, the interpreter and what is installed
    Doctor(check::Args) => check::run,
    /// Ask the process of an installed feature for something, once
    Call(call::Args) => call::run,
    /// End the processes of a feature and forget that they crashed
    Restart(restart::Args) => restart::run,
    /// Show what the processes of a feature printed
    Logs(logs::Args) => logs::run,
    /// Run a script with the interpreter and the packages of a feature
    Python(python::Args) => python::run,
}

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}

/// The add-ons of the profile in use. Says which settings were put right.
fn addons(context: &Context) -> Result<Addons> {
    let addons = addons_of(context);
    for warning in &addons.settings().warnings {
        context.warn(warning)?;
    }
    Ok(addons)
}

/// An error for programs.
fn error_json(error: &AddonError) -> Value {
    json!({
        "code": error.code.name(),
        "message": error.to_string(),
        "feature": error.feature,
        "hint": error.hint,
        "installer": error.installer,
    })
}

/// The end of a command that failed as a whole: for programs as JSON, too.
fn failed(context: &Context, error: AddonError, as_json: bool) -> Result<CommandError> {
    if !as_json {
        return Ok(error.into());
    }
    context.json(&json!({ "error": error_json(&error) }))?;
    Ok(CommandError::from(error).reported())
}

/// The value, or the end of the command.
fn succeeded<T>(context: &Context, result: hermes_addons::Result<T>, as_json: bool) -> Result<T> {
    match result {
        Ok(value) => Ok(value),
        Err(error) => Err(failed(context, error, as_json)?),
    }
}

/// All failures are told; the first decides the exit code.
fn finish(context: &Context, failures: Vec<AddonError>, told: bool) -> Result<()> {
    let mut failures = failures.into_iter().map(CommandError::from);
    let Some(first) = failures.next() else {
        return Ok(());
    };
    if told {
        return Err(first.reported());
    }
    let mut rest = failures.peekable();
    if rest.peek().is_none() {
        return Err(first);
    }
    for error in std::iter::once(&first).chain(rest.collect::<Vec<_>>().iter()) {
        context.printer.err(&error.report().unwrap_or_default())?;
    }
    Err(first.reported())
}
