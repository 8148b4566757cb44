//! `hermes kanban claim`: a card taken by hand, with the directory it is worked on in.

use std::process::ExitCode;

use hermes_board::Claimer;
use hermes_board::dispatch::{DispatchFlags, Workshop};
use hermes_board::model::{TaskId, Termination};
use hermes_board::store::{
    Applied, BoardStore, ClaimFrom, ClaimOutcome, ClaimRequest, Claimed, ResolvedWorkspace,
};

use super::cards::NAME;
use super::session::{BoardSession, refusal};
use super::workers::dispatcher;
use crate::context::Context;
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The card
    id: TaskId,
    /// Seconds without a sign of life after which others may have it [default: 900]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..))]
    ttl: Option<i64>,
}

pub(super) fn run(args: &Args, context: &Context, board: Option<&str>) -> Result<ExitCode> {
    let mut session = BoardSession::open(context, board)?;
    let mut dispatcher = dispatcher(&session, &DispatchFlags::default());
    let lock = Claimer::of_this_process().lock();
    let outcome = session.store.claim(&ClaimRequest {
        task: args.id.clone(),
        lock: lock.clone(),
        ttl_seconds: args.ttl.unwrap_or(dispatcher.limits.claim_ttl_seconds),
        from: ClaimFrom::Ready,
    })?;
    let claimed = match outcome {
        ClaimOutcome::Claimed(claimed) => claimed,
        other => return Err(not_claimed(&args.id, &session, &other)),
    };
    let board = session.store.board().clone();
    let prepared = dispatcher.workshop(&board).prepare(&claimed.task);
    let workspace = match prepared {
        Ok(workspace) => workspace,
        Err(problem) => {
            let problem = format!("{} has no place to be worked on: {problem}", args.id);
            return Err(give_back(&mut session, &args.id, &lock, &problem)?);
        }
    };
    record(&mut session, &claimed, &workspace)?;
    let printer = &context.printer;
    printer.line(format!("Claimed {}", args.id))?;
    printer.line(format!("Workspace: {}", workspace.path.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn record(
    session: &mut BoardSession<'_>,
    claimed: &Claimed,
    workspace: &ResolvedWorkspace,
) -> Result<()> {
    let id = &claimed.task.id;
    match session.store.record_workspace(id, claimed.run, workspace)? {
        Applied::Yes => Ok(()),
        Applied::LostRace => Err(refusal(format!("{id} was taken back meanwhile"))),
    }
}

/// Lets a card go that was claimed a moment ago; what is left to say is why.
fn give_back(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    lock: &str,
    problem: &str,
) -> Result<CommandError> {
    let released = session
        .store
        .reclaim(id, Some(lock), Some(problem), Termination::default())?;
    Ok(match released {
        Applied::Yes => refusal(problem).hint("the card is ready again"),
        Applied::LostRace => refusal(problem),
    })
}

fn not_claimed(id: &TaskId, session: &BoardSession<'_>, outcome: &ClaimOutcome) -> CommandError {
    let shown = one_line(id.as_str(), NAME);
    match outcome {
        ClaimOutcome::NotClaimable { status, lock } => refusal(format!(
            "cannot claim {shown}: status={} lock={}",
            one_line(status, NAME),
            one_line(lock.as_deref().unwrap_or("(none)"), NAME)
        )),
        ClaimOutcome::ParentsOpen => refusal(format!(
            "cannot claim {shown}: it waits for cards that are not finished"
        ))
        .hint(format!("`hermes kanban why {shown}` names them")),
        ClaimOutcome::TooEarly { at } => refusal(format!(
            "cannot claim {shown}: its moment comes at {}",
            session.time().minute(*at)
        )),
        ClaimOutcome::Unknown | ClaimOutcome::Claimed(_) => {
            hermes_board::Error::UnknownTask { id: id.clone() }.into()
        }
    }
}
