//! `hermes kanban context`: the text a worker reads about its card.

use hermes_board::model::TaskId;
use hermes_board::{ContextOptions, worker_context};
use hermes_config::vars;

use super::session::Kanban;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let session = kanban.open()?;
    let timeout = kanban.env.text(&vars::TERMINAL_TIMEOUT);
    let options = ContextOptions {
        zone: kanban.zone().resolve(),
        terminal_timeout: timeout.and_then(|text| text.parse().ok()),
        ..ContextOptions::default()
    };
    let text = worker_context(&session.store, &args.id, &options)?;
    kanban.out(&text)
}
