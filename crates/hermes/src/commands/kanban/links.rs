//! `hermes kanban link` and `unlink`: which card waits for which.

use std::process::ExitCode;

use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::cards::NAME;
use super::session::{BoardSession, refusal};
use crate::context::Context;
use crate::error::Result;
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card that must be finished first
    parent: TaskId,
    /// The card that waits
    child: TaskId,
}

pub(super) fn link(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let mut session = BoardSession::open(context, board)?;
    session.store.link(&args.parent, &args.child)?;
    context
        .printer
        .line(format!("Linked {} -> {}", args.parent, args.child))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn unlink(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let mut session = BoardSession::open(context, board)?;
    if session.store.unlink(&args.parent, &args.child)?.is_none() {
        return Err(refusal(format!(
            "no such link: {} -> {}",
            one_line(args.parent.as_str(), NAME),
            one_line(args.child.as_str(), NAME)
        )));
    }
    context
        .printer
        .line(format!("Unlinked {} -> {}", args.parent, args.child))?;
    Ok(ExitCode::SUCCESS)
}
