//! `hermes kanban boards`: list, create, switch, archive and delete boards.

mod change;
mod create;
mod list;
mod remove;

use std::process::ExitCode;

use hermes_board::{Clock, SystemClock};
pub(in crate::commands) use list::board_counts;

use super::session::Kanban;
use crate::commands::{NoArgs, exit};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    verb: Option<Verb>,
}

verbs! { Kanban<'_>;
    /// List the boards
    [visible_alias("ls")]
    List(list::Args) => list::run,
    /// Create a board
    [visible_alias("new")]
    Create(create::Args) => create::run,
    /// Archive a board
    [visible_alias("remove")]
    Rm(remove::Args) => remove::rm,
    /// Delete a board with everything in it
    Delete(change::SlugArgs) => remove::delete,
    /// Switch to another board
    [visible_alias("use")]
    Switch(change::SlugArgs) => change::switch,
    /// Show the active board
    [visible_alias("current")]
    Show(NoArgs) => list::show,
    /// Change the display name of a board
    Rename(change::RenameArgs) => change::rename,
    /// Set the working directory for cards that do not specify one
    SetDefaultWorkdir(change::WorkdirArgs) => change::set_workdir,
    /// Set what becomes of approved work of cards that do not say
    SetOnApprove(change::OnApproveArgs) => change::set_on_approve,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<ExitCode> {
    match &args.verb {
        Some(verb) => verb.run(kanban),
        None => exit(list::run(&list::Args::default(), kanban)),
    }
}

fn now() -> i64 {
    SystemClock.now()
}
