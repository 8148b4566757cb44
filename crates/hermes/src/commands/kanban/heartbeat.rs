//! `hermes kanban heartbeat`.

use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::session::Kanban;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// What the worker is doing
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    let run = session.own_run(&args.id, "send a heartbeat for")?;
    session
        .store
        .heartbeat(&args.id, args.note.as_deref(), run)?;
    kanban.line(format!("Heartbeat recorded for {}", args.id))
}
