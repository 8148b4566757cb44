//! `hermes kanban unblock`.

use hermes_board::model::{Status, TaskId};
use hermes_board::store::BoardStore;

use super::block::{announce, because};
use super::session::Kanban;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The cards
    #[arg(required = true, value_name = "ID")]
    ids: Vec<TaskId>,
    /// Reason; also added as a comment
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let reason = args.reason.as_deref().map(str::trim);
    let reason = reason.filter(|reason| !reason.is_empty());
    let mut session = kanban.open()?;
    session.caller()?.may_manage("unblock cards")?;
    session.for_each(&args.ids, |session, id| {
        announce(
            session,
            id,
            "UNBLOCK",
            reason,
            &[Status::Blocked, Status::Scheduled],
        )?;
        let status = session.store.unblock(id)?;
        let waits = if status == Status::Todo {
            " (waiting for its parents)"
        } else {
            ""
        };
        let line = format!("Unblocked {id}{waits}{}", because(reason));
        session.line(line)
    })
}
