//! `hermes kanban link` and `unlink`: which card waits for which.

use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::cards::NAME;
use super::session::{Kanban, refusal};
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card that must be finished first
    parent: TaskId,
    /// The card that waits
    child: TaskId,
}

pub(super) fn link(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_link(&session.store, &args.child)?;
    session.store.link(&args.parent, &args.child)?;
    kanban.line(format!("Linked {} -> {}", args.parent, args.child))
}

pub(super) fn unlink(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_link(&session.store, &args.child)?;
    if session.store.unlink(&args.parent, &args.child)?.is_none() {
        return Err(refusal(format!(
            "no such link: {} -> {}",
            one_line(args.parent.as_str(), NAME),
            one_line(args.child.as_str(), NAME)
        )));
    }
    kanban.line(format!("Unlinked {} -> {}", args.parent, args.child))
}
