//! `hermes kanban assign`: the assignee of a card.

use hermes_board::model::{Assignee, TaskId};
use hermes_board::store::BoardStore;

use super::session::Kanban;
use crate::error::Result;

/// Names that mean no assignee.
const NO_ASSIGNEE: [&str; 3] = ["none", "-", "null"];

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Profile or lane; none, - or null for no assignee
    #[arg(value_name = "PROFILE")]
    assignee: String,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let assignee = parse(&args.assignee)?;
    let mut session = kanban.open()?;
    session.caller()?.may_manage("assign cards")?;
    session.store.assign(&args.id, assignee.as_ref())?;
    kanban.line(format!(
        "Assigned {} to {}",
        args.id,
        shown(assignee.as_ref())
    ))
}

/// An assignee, or none.
pub(super) fn parse(text: &str) -> Result<Option<Assignee>> {
    if NO_ASSIGNEE.contains(&text.trim().to_lowercase().as_str()) {
        return Ok(None);
    }
    Ok(Some(Assignee::parse(text)?))
}

pub(super) fn shown(assignee: Option<&Assignee>) -> &str {
    assignee.map_or("(unassigned)", Assignee::as_str)
}
