//! `hermes config`: settings of a profile.

mod check;
mod edit;
mod get;
mod migrate;
mod path;
mod set;
mod show;
mod unset;

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
    /// Show the settings in effect, secrets masked
    Show(show::Args),
    /// Print one value
    Get(get::Args),
    /// Change one value in config.yaml, or a variable in .env
    Set(set::Args),
    /// Remove a value so that its default is in effect again
    Unset(unset::Args),
    /// Open config.yaml in your editor and check it afterwards
    Edit,
    /// Print where config.yaml is
    Path,
    /// Print where .env is
    EnvPath,
    /// Check the settings: version, unknown keys, types, variables
    Check(check::Args),
    /// Bring config.yaml to the current schema version
    Migrate(migrate::Args),
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        None => show::run(&show::Args::default(), context),
        Some(Verb::Show(args)) => show::run(args, context),
        Some(Verb::Get(args)) => get::run(args, context),
        Some(Verb::Set(args)) => set::run(args, context),
        Some(Verb::Unset(args)) => unset::run(args, context),
        Some(Verb::Edit) => edit::run(context),
        Some(Verb::Path) => path::config(context),
        Some(Verb::EnvPath) => path::dotenv(context),
        Some(Verb::Check(args)) => check::run(args, context),
        Some(Verb::Migrate(args)) => migrate::run(args, context),
    }
}
