//! `hermes kanban assign`: the assignee of a card.

use std::process::ExitCode;

use hermes_board::model::{Assignee, TaskId};
use hermes_board::store::BoardStore;

use super::session::BoardSession;
use crate::context::Context;
use crate::error::Result;

/// Names that mean no assignee.
const NO_ASSIGNEE: [&str; 3] = ["none", "-", "null"];

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    /// Profile or lane; none, - or null for no assignee
    #[arg(value_name = "PROFILE")]
    assignee: String,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let assignee = parse(&args.assignee)?;
    let mut session = BoardSession::open(context, board)?;
    session.store.assign(&args.id, assignee.as_ref())?;
    context.printer.line(format!(
        "Assigned {} to {}",
        args.id,
        shown(assignee.as_ref())
    ))?;
    Ok(ExitCode::SUCCESS)
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
