//! `hermes profile`: agents with a home of their own.

mod alias;
mod alias_step;
mod create;
mod delete;
mod describe;
mod export;
mod import;
mod info;
mod install;
mod list;
mod rename;
mod show;
mod update;
mod use_profile;

use std::process::ExitCode;

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List all profiles
    List(list::Args),
    /// Make a profile the active one
    Use(use_profile::Args),
    /// Create a profile, empty or as a copy
    Create(create::Args),
    /// Delete a profile and everything in its home
    Delete(delete::Args),
    /// Show one profile
    Show(show::Args),
    /// Create or remove a command of its own for a profile
    Alias(alias::Args),
    /// Give a profile another name
    Rename(rename::Args),
    /// Write a profile, without its secrets, into an archive
    Export(export::Args),
    /// Create a profile from an archive
    Import(import::Args),
    /// Print or set what a profile is for
    Describe(describe::Args),
    /// Create a profile from a distribution
    Install(install::Args),
    /// Fetch a newer version of a profile's distribution
    Update(update::Args),
    /// Show the distribution a profile was installed from
    Info(info::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        None => show::current(context),
        Some(Verb::List(args)) => list::run(args, context),
        Some(Verb::Use(args)) => use_profile::run(args, context),
        Some(Verb::Create(args)) => create::run(args, context),
        Some(Verb::Delete(args)) => delete::run(args, context),
        Some(Verb::Show(args)) => show::run(args, context),
        Some(Verb::Alias(args)) => alias::run(args, context),
        Some(Verb::Rename(args)) => rename::run(args, context),
        Some(Verb::Export(args)) => export::run(args, context),
        Some(Verb::Import(args)) => import::run(args, context),
        Some(Verb::Describe(args)) => describe::run(args, context),
        Some(Verb::Install(args)) => install::run(args, context),
        Some(Verb::Update(args)) => update::run(args, context),
        Some(Verb::Info(args)) => info::run(args, context),
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
