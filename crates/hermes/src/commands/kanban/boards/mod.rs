//! `hermes kanban boards`: list, create, switch, archive and delete boards.

mod change;
mod create;
mod list;
mod remove;

use std::process::ExitCode;

use hermes_board::boards::BoardHome;
use hermes_board::{Clock, SystemClock};

use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

#[derive(Debug, clap::Subcommand)]
enum Verb {
    /// List the boards
    #[command(visible_alias = "ls")]
    List(list::Args),
    /// Create a board
    #[command(visible_alias = "new")]
    Create(create::Args),
    /// Archive a board
    #[command(visible_alias = "remove")]
    Rm(remove::Args),
    /// Delete a board with everything in it
    Delete(remove::DeleteArgs),
    /// Switch to another board
    #[command(visible_alias = "use")]
    Switch(change::SwitchArgs),
    /// Show the board in use
    #[command(visible_alias = "current")]
    Show,
    /// Change the display name of a board
    Rename(change::RenameArgs),
    /// Set the directory of cards that name none
    SetDefaultWorkdir(change::WorkdirArgs),
}

pub(super) fn run(args: &Args, context: &Context) -> Result<ExitCode> {
    let home = BoardHome::resolve(&context.env, &context.location);
    match &args.verb {
        None => list::run(&list::Args::default(), context, &home),
        Some(Verb::List(args)) => list::run(args, context, &home),
        Some(Verb::Create(args)) => create::run(args, context, &home),
        Some(Verb::Rm(args)) => remove::rm(args, context, &home),
        Some(Verb::Delete(args)) => remove::delete(args, context, &home),
        Some(Verb::Switch(args)) => change::switch(args, context, &home),
        Some(Verb::Show) => list::show(context, &home),
        Some(Verb::Rename(args)) => change::rename(args, context, &home),
        Some(Verb::SetDefaultWorkdir(args)) => change::set_workdir(args, context, &home),
    }
}

fn now() -> i64 {
    SystemClock.now()
}
