//! `hermes kanban context`: the text a worker reads about its card.

use std::process::ExitCode;

use hermes_board::model::TaskId;
use hermes_board::{ContextOptions, worker_context};
use hermes_config::vars;

use super::session::BoardSession;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let session = BoardSession::open(context, board)?;
    let timeout = context.env.text(&vars::TERMINAL_TIMEOUT);
    let options = ContextOptions {
        zone: session.time().zone().clone(),
        terminal_timeout: timeout.and_then(|text| text.parse().ok()),
        workspace: None,
    };
    let text = worker_context(&session.store, &args.id, &options)?;
    context.printer.out(&text)?;
    Ok(ExitCode::SUCCESS)
}
