//! `hermes kanban reclaim` and `reassign`: cards taken out of the hands they are in.

use std::process::ExitCode;

use hermes_board::dispatch::{DispatchFlags, TakenBack};
use hermes_board::model::TaskId;
use hermes_board::store::BoardStore;

use super::assign;
use super::session::{BoardSession, refusal};
use super::workers::dispatcher;
use crate::backend::OrphanSweep;
use crate::context::Context;
use crate::error::Result;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

#[derive(Debug, clap::Args)]
pub(super) struct ReassignArgs {
    /// The card
    id: TaskId,
    /// Profile or lane; none, - or null for nobody
    #[arg(value_name = "PROFILE")]
    assignee: String,
    /// Take it out of the hands it is in first
    #[arg(long)]
    reclaim: bool,
    /// Why
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let mut session = BoardSession::open(context, board)?;
    take_back(&mut session, &args.id, args.reason.as_deref())?;
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
        take_back(&mut session, &args.id, args.reason.as_deref())?;
    }
    session.store.assign(&args.id, assignee.as_ref())?;
    context.printer.line(format!(
        "Reassigned {} to {}",
        args.id,
        assign::shown(assignee.as_ref())
    ))?;
    Ok(ExitCode::SUCCESS)
}

/// Ends the worker of a card, if it is on this machine, and makes the card ready.
fn take_back(session: &mut BoardSession<'_>, id: &TaskId, reason: Option<&str>) -> Result<()> {
    let mut dispatcher = dispatcher(session, &DispatchFlags::default());
    let orphans = OrphanSweep::of(session.context);
    dispatcher.workers.after_loss = orphans.after_loss();
    let taken = dispatcher.take_back(&mut session.store, id, reason)?;
    orphans.finish();
    match taken {
        TakenBack::Yes => Ok(()),
        TakenBack::WorkerLives(end) => {
            let pid = end.prev_pid.map(|pid| format!(" (pid {pid})"));
            Err(refusal(format!(
                "the worker of {id}{} could not be ended, so the card stays with it",
                pid.unwrap_or_default()
            ))
            .hint("end it by hand, as the user it runs as, and try again"))
        }
        TakenBack::LostRace => Err(refusal(format!("{id} was changed by somebody else"))),
    }
}
