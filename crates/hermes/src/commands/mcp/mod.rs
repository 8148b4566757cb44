//! `hermes mcp`: servers of the Model Context Protocol.

mod add;
mod catalog;
mod configure;
mod entry;
mod install;
mod list;
mod login;
mod probe;
mod remove;
mod test;

use std::process::ExitCode;

use super::{NoArgs, exit};
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Context;
    /// Add a server: a program or an address
    Add(add::Args) => add::run,
    /// Remove a server from the settings
    [visible_alias("rm")]
    Remove(remove::Args) => remove::run,
    /// List the servers of the settings
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Start a server and list its tools
    Test(test::Args) => test::run,
    /// Choose which tools of a server are offered
    [visible_alias("config")]
    Configure(configure::Args) => configure::run,
    /// Log in to a server with `auth: oauth`, in the browser
    Login(login::Args) => login::run,
    /// Log in again to a server, or to all that take a login
    Reauth(login::ReauthArgs) => login::reauth,
    /// List servers that can be installed by name
    Catalog(catalog::Args) => catalog::run,
    /// Add a server of the catalog
    Install(install::Args) => install::run,
    /// Choose a server of the catalog and add it
    Picker(NoArgs) => install::pick_one,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(context),
        None => exit(list::run(&list::Args::default(), context)),
    }
}
