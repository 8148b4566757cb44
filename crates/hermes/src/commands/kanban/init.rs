//! `hermes kanban init`: creates or fully checks the database, and lists the profiles.

use hermes_board::CheckDepth;
use hermes_home::profiles::names;

use super::session::Kanban;
use crate::commands::NoArgs;
use crate::error::Result;

pub(super) fn run(_: &NoArgs, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open_checked(CheckDepth::Full)?;
    let board = session.store.board();
    let place = match &board.server {
        Some(_) => board.shown_database(),
        None => kanban.display(&board.database),
    };
    kanban.line(format!("Board database ready at {place}"))?;
    let profiles = names(&kanban.location)?;
    kanban.line("\nProfiles that cards can be assigned to:")?;
    for profile in &profiles {
        kanban.line(format!("  {profile}"))?;
    }
    if profiles.len() == 1 {
        kanban.line("`hermes profile create NAME` creates more.")?;
    }
    kanban.line(
        "\nReady cards are worked on while a dispatcher is running, which reacts to every change:\n  \
         hermes kanban daemon",
    )
}
