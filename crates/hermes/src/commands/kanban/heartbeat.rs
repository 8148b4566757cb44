//! `hermes kanban heartbeat`.

use std::process::ExitCode;

use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::session::BoardSession;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    /// What is being done
    #[arg(long, value_name = "TEXT")]
    note: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let mut session = BoardSession::open(context, board)?;
    let run = session.own_run(&args.id);
    session
        .store
        .heartbeat(&args.id, args.note.as_deref(), run)?;
    context
        .printer
        .line(format!("Heartbeat recorded for {}", args.id))?;
    Ok(ExitCode::SUCCESS)
}
