//! `hermes kanban boards list` and `show`.

use hermes_board::boards::{BoardHome, BoardInfo, BoardSlug, Listed};
use hermes_board::{CheckDepth, Counts};
use serde::Serialize;

use super::super::cards::{NAME, TITLE, counts_text, padded};
use super::super::session::Kanban;
use crate::commands::NoArgs;
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// Include boards marked as archived
    #[arg(long)]
    all: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let listed = if args.all {
        Listed::All
    } else {
        Listed::Active
    };
    let home = &kanban.home();
    let boards = home.list(listed)?;
    let current = home.active();
    let counted: Vec<(&BoardInfo, Counts)> = boards
        .iter()
        .map(|board| (board, counts(kanban, home, &board.slug)))
        .collect();
    if args.json {
        let rows = counted.iter().map(|(board, counts)| Row {
            board,
            is_current: board.slug == current,
            counts,
            total: counts.values().sum(),
        });
        return kanban.json(&rows.collect::<Vec<_>>());
    }
    let mut out = format!("    {:24}  {:28}  COUNTS\n", "SLUG", "NAME");
    for (board, counts) in &counted {
        let marker = if board.slug == current { "●" } else { " " };
        let archived = if board.archived { " [archived]" } else { "" };
        let name = format!("{}{archived}", one_line(&board.name, NAME));
        out.push_str(&format!(
            "{marker}   {:24}  {}  {}\n",
            board.slug,
            padded(&name, 28),
            counts_text(counts, "(empty)")
        ));
    }
    out.push_str(&format!("\nCurrent board: {current}\n"));
    if boards.len() > 1 {
        out.push_str("`hermes kanban boards switch SLUG` switches to another one.\n");
    }
    kanban.out(&out)
}

/// The boards that have cards, with the number of cards by status; for an overview.
pub(in crate::commands) fn board_counts(context: &Context) -> Result<Vec<(BoardSlug, Counts)>> {
    let kanban = Kanban::of(context);
    let home = &kanban.home();
    let boards = home.list(Listed::Active)?.into_iter();
    let counted = boards.map(|board| {
        let counts = counts(&kanban, home, &board.slug);
        (board.slug, counts)
    });
    Ok(counted.filter(|(_, counts)| !counts.is_empty()).collect())
}

/// A board in JSON.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    board: &'a BoardInfo,
    is_current: bool,
    counts: &'a Counts,
    total: u64,
}

/// Cards by status; none for a board whose database is missing or unreadable, so that one bad board
/// does not hide the others.
fn counts(kanban: &Kanban<'_>, home: &BoardHome, slug: &BoardSlug) -> Counts {
    let board = home.board(slug);
    if !board.has_database() {
        return Counts::new();
    }
    let counted = kanban
        .open_board(&board, CheckDepth::WhenDue)
        .and_then(|store| Ok(store.counts()?));
    counted.unwrap_or_else(|error| {
        tracing::warn!(
            board = slug.as_str(),
            ?error,
            "could not count the cards of a board"
        );
        Counts::new()
    })
}

pub(super) fn show(_: &NoArgs, kanban: &Kanban<'_>) -> Result<()> {
    let home = &kanban.home();
    let current = home.active();
    let info = home.info(&current);
    let counts = counts(kanban, home, &current);
    let total: u64 = counts.values().sum();
    let mut out = format!("Current board: {current}\n");
    out.push_str(&format!("  Display name: {}\n", one_line(&info.name, NAME)));
    if !info.description.is_empty() {
        let description = one_line(&info.description, TITLE);
        out.push_str(&format!("  Description:  {description}\n"));
    }
    if let Some(workdir) = &info.default_workdir {
        out.push_str(&format!("  Workdir:      {}\n", one_line(workdir, TITLE)));
    }
    if let Some(action) = &info.on_approve {
        out.push_str(&format!("  On approve:   {}\n", one_line(action, TITLE)));
    }
    match &info.database {
        Some(address) => out.push_str(&format!("  Database:     {}\n", one_line(address, TITLE))),
        None => out.push_str(&format!("  DB path:      {}\n", info.db_path.display())),
    }
    let by_status = if counts.is_empty() {
        String::new()
    } else {
        format!(" ({})", counts_text(&counts, ""))
    };
    out.push_str(&format!("  Tasks:        {total} total{by_status}\n"));
    kanban.out(&out)
}
