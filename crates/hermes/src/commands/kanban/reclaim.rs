//! `hermes kanban reclaim` and `reassign`: running cards made ready again.

use hermes_board::DispatchFlags;
use hermes_board::dispatch::Reclaimed;
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;
use hermes_runtime::OrphanSweep;

use super::assign;
use super::session::{BoardSession, Kanban, refusal};
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(crate) struct ReassignArgs {
    /// The card
    id: TaskId,
    /// Profile or lane; none, - or null for no assignee
    #[arg(value_name = "PROFILE")]
    assignee: String,
    /// Reclaim the card first, if it is running
    #[arg(long)]
    reclaim: bool,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_manage("reclaim cards")?;
    reclaim_card(&mut session, &args.id, args.reason.as_deref())?;
    kanban.line(format!("Reclaimed {}", args.id))
}

pub(super) fn reassign(args: &ReassignArgs, kanban: &Kanban<'_>) -> Result<()> {
    let assignee = assign::parse(&args.assignee)?;
    let mut session = kanban.open()?;
    session.caller()?.may_manage("reassign cards")?;
    let task = session.task(&args.id)?;
    if args.reclaim && task.claim_lock.is_some() {
        reclaim_card(&mut session, &args.id, args.reason.as_deref())?;
    }
    session.store.assign(&args.id, assignee.as_ref())?;
    kanban.line(format!(
        "Reassigned {} to {}",
        args.id,
        assign::shown(assignee.as_ref())
    ))
}

/// Terminates the worker of a card, if it runs on this machine, and makes the card ready.
pub(super) fn reclaim_card(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    reason: Option<&str>,
) -> Result<()> {
    let mut dispatcher = session.dispatcher(&DispatchFlags::default());
    let orphans = OrphanSweep::new(session);
    dispatcher.workers.after_loss = orphans.after_loss();
    let outcome = dispatcher.reclaim(&mut session.store, id, reason)?;
    orphans.finish();
    match outcome {
        Reclaimed::Yes => Ok(()),
        Reclaimed::WorkerAlive(end) => {
            let pid = end.prev_pid.map(|pid| format!(" (pid {pid})"));
            Err(refusal(format!(
                "could not terminate the worker of {id}{}, so it keeps the card",
                pid.unwrap_or_default()
            ))
            .hint("terminate it as the user it runs as, and try again"))
        }
        Reclaimed::LostRace => Err(refusal(format!(
            "somebody else changed {id} in the meantime"
        ))),
    }
}
