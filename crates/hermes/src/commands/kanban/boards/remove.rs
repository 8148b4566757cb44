//! `hermes kanban boards rm` and `delete`.

use std::process::ExitCode;

use hermes_board::boards::{BoardHome, BoardSlug};

use super::now;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The board
    slug: String,
    /// Delete the board with everything in it instead of archiving it
    #[arg(long)]
    delete: bool,
}

#[derive(Debug, clap::Args)]
pub(super) struct DeleteArgs {
    /// The board
    slug: String,
}

pub(super) fn rm(args: &Args, context: &Context, home: &BoardHome) -> Result<ExitCode> {
    if args.delete {
        return delete_board(&args.slug, context, home);
    }
    let slug = BoardSlug::parse(&args.slug)?;
    let path = home.archive(&slug, now())?;
    let printer = &context.printer;
    printer.line(format!("Board '{slug}' archived → {}", path.display()))?;
    printer.line(format!(
        "To restore it, move that directory to {}",
        home.board(&slug).directory.display()
    ))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn delete(args: &DeleteArgs, context: &Context, home: &BoardHome) -> Result<ExitCode> {
    delete_board(&args.slug, context, home)
}

fn delete_board(slug: &str, context: &Context, home: &BoardHome) -> Result<ExitCode> {
    let slug = BoardSlug::parse(slug)?;
    home.delete(&slug, now())?;
    context.printer.line(format!("Board '{slug}' deleted."))?;
    Ok(ExitCode::SUCCESS)
}
