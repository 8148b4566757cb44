//! `hermes profile`: agents with a home of their own.

mod alias;
mod alias_step;
mod create;
mod delete;
mod describe;
mod export;
mod import;
mod info;
mod inherit;
mod install;
mod list;
mod rename;
mod show;
mod update;
mod use_profile;

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
    /// List all profiles
    List(list::Args) => list::run,
    /// Make a profile the active one
    Use(use_profile::Args) => use_profile::run,
    /// Create a profile, empty or as a copy
    Create(create::Args) => create::run,
    /// Delete a profile and everything in its home
    Delete(delete::Args) => delete::run,
    /// Show one profile
    Show(show::Args) => show::run,
    /// Create or remove a command for a profile
    Alias(alias::Args) => alias::run,
    /// Rename a profile
    Rename(rename::Args) => rename::run,
    /// Export a profile, without its secrets, to an archive
    Export(export::Args) => export::run,
    /// Create a profile from an archive
    Import(import::Args) => import::run,
    /// Print or set what a profile is for
    Describe(describe::Args) => describe::run,
    /// Create a profile from a distribution
    Install(install::Args) => install::run,
    /// Fetch a newer version of a profile's distribution
    Update(update::Args) => update::run,
    /// Show the distribution a profile was installed from
    Info(info::Args) => info::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(show::current(context)),
    }
}

/// What stands for a value nobody set.
const ABSENT: &str = "—";

fn running(is_running: bool) -> &'static str {
    if is_running { "running" } else { "stopped" }
}

/// The wrapper of a restored profile; one whose name is taken goes without.
pub(super) fn write_alias_quietly(context: &Context, profile: &hermes_home::ProfileName) {
    if let Err(error) = alias_step::write(context, profile.as_str(), profile) {
        tracing::info!(profile = profile.as_str(), ?error, "no alias recreated");
    }
}
