//! `hermes kanban reclaim` and `reassign`: running cards made ready again.

use std::process::ExitCode;

use hermes_board::DispatchFlags;
use hermes_board::dispatch::Reclaimed;
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;
use hermes_runtime::OrphanSweep;

use super::assign;
use super::session::{BoardSession, refusal};
use super::workers::dispatcher;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    /// Reason
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReassignArgs {
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

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let mut session = BoardSession::open(context, board)?;
    reclaim_card(&mut session, &args.id, args.reason.as_deref())?;
    context.printer.line(format!("Reclaimed {}", args.id))?;
    Ok(ExitCode::SUCCESS)
}

pub(super) fn reassign(
    args: &ReassignArgs,
    context: &Context,
    board: Option<&str>,
) -> Result<ExitCode> {
    let assignee = assign::parse(&args.assignee)?;
    let mut session = BoardSession::open(context, board)?;
    let task = session.task(&args.id)?;
    if args.reclaim && task.claim_lock.is_some() {
        reclaim_card(&mut session, &args.id, args.reason.as_deref())?;
    }
    session.store.assign(&args.id, assignee.as_ref())?;
    context.printer.line(format!(
        "Reassigned {} to {}",
        args.id,
        assign::shown(assignee.as_ref())
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Terminates the worker of a card, if it runs on this machine, and makes the card ready.
fn reclaim_card(session: &mut BoardSession<'_>, id: &TaskId, reason: Option<&str>) -> Result<()> {
    let mut dispatcher = dispatcher(session, &DispatchFlags::default());
    let orphans = OrphanSweep::new(session.context);
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
        Reclaimed::LostRace => Err(refusal(format!("somebody else changed {id} meanwhile"))),
    }
}
