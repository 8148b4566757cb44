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

pub(crate) use self::edit::editor;

use super::{NoArgs, exit};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// Show the settings in effect, secrets masked
    Show(show::Args) => show::run,
    /// Print one value
    Get(get::Args) => get::run,
    /// Change one value in config.yaml, or a variable in .env
    Set(set::Args) => set::run,
    /// Remove a value so that its default applies again
    Unset(unset::Args) => unset::run,
    /// Open config.yaml in your editor and check it afterwards
    Edit(NoArgs) => edit::run,
    /// Print the path of config.yaml
    Path(NoArgs) => path::config,
    /// Print the path of .env
    EnvPath(NoArgs) => path::dotenv,
    /// Check the settings: version, unknown keys, types, variables
    Check(check::Args) => check::run,
    /// Migrate config.yaml to the current schema version
    Migrate(migrate::Args) => migrate::run,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(show::run(&show::Args::default(), context)),
    }
}
