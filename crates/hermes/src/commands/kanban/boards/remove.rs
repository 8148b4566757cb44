//! `hermes kanban boards rm` and `delete`.

use hermes_board::boards::BoardSlug;

use super::super::session::Kanban;
use super::change::SlugArgs;
use super::now;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The board
    slug: String,
    /// Delete the board and everything in it instead of archiving it
    #[arg(long)]
    delete: bool,
}

pub(super) fn rm(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    if args.delete {
        return delete_board(&args.slug, kanban);
    }
    let slug = BoardSlug::parse(&args.slug)?;
    kanban.caller()?.may_manage("archive boards")?;
    let home = kanban.home();
    let path = home.archive(&slug, now())?;
    kanban.line(format!("Board '{slug}' archived → {}", path.display()))?;
    kanban.line(format!(
        "To restore it, move that directory to {}",
        home.board(&slug).directory.display()
    ))
}

pub(super) fn delete(args: &SlugArgs, kanban: &Kanban<'_>) -> Result<()> {
    delete_board(&args.slug, kanban)
}

fn delete_board(slug: &str, kanban: &Kanban<'_>) -> Result<()> {
    let slug = BoardSlug::parse(slug)?;
    kanban.caller()?.may_manage("delete boards")?;
    kanban.home().delete(&slug, now())?;
    kanban.line(format!("Board '{slug}' deleted."))
}
