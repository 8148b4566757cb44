//! `hermes kanban archive`: archiving cards, and deleting archived ones for good.

use hermes_board::files::discard_card_files;
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::session::{Kanban, refusal};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The cards to archive
    #[arg(value_name = "ID")]
    ids: Vec<TaskId>,
    /// Delete these archived cards with everything that belongs to them
    #[arg(long = "rm", value_name = "ID", num_args = 1..)]
    delete: Vec<TaskId>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    match (args.ids.as_slice(), args.delete.as_slice()) {
        ([], []) => return Err(refusal("name at least one card")),
        ([_, ..], [_, ..]) => {
            return Err(refusal(
                "archive cards or delete some with --rm, not both at once",
            ));
        }
        _ => {}
    }
    let mut session = kanban.open()?;
    session.caller()?.may_manage("archive or delete cards")?;
    if args.delete.is_empty() {
        return session.for_each(&args.ids, |session, id| {
            session.store.archive(id)?;
            session.line(format!("Archived {id}"))
        });
    }
    session.for_each(&args.delete, |session, id| {
        session.store.purge(id)?;
        discard_card_files(session.store.board(), id)?;
        session.line(format!("Deleted {id}"))
    })
}
