//! `hermes kanban claim`: claiming a card by hand, with its workspace.

use hermes_board::dispatch::WorkerHost;
use hermes_board::model::{TaskId, Termination};
use hermes_board::store::{
    Applied, BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, Claimant,
    ResolvedWorkspace,
};
use hermes_board::{DispatchFlags, own_host};

use super::cards::NAME;
use super::session::{BoardSession, Kanban, refusal};
use crate::error::{CommandError, Result};
use crate::ui::one_line;

#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The card
    id: TaskId,
    /// Seconds without a heartbeat after which the claim expires [default: 900]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(i64).range(1..))]
    ttl: Option<i64>,
}

pub(super) fn run(args: &Args, kanban: &Kanban<'_>) -> Result<()> {
    let mut session = kanban.open()?;
    session.caller()?.may_manage("claim cards")?;
    let mut dispatcher = session.dispatcher(&DispatchFlags::default());
    let lock = hermes_board::own_lock();
    let host = own_host(&session.home, &session.settings.host);
    let outcome = session.store.claim(&ClaimRequest {
        task: args.id.clone(),
        lock: lock.clone(),
        ttl_seconds: args.ttl.unwrap_or(dispatcher.limits.claim_ttl_seconds),
        from: ClaimFrom::Ready,
        dispatcher: None,
        host: host.clone(),
        caps: ClaimCaps::default(),
    })?;
    let claimed = match outcome {
        ClaimOutcome::Claimed(claimed) => claimed,
        other => return Err(not_claimed(&args.id, &session, &other)),
    };
    let board = session.store.board().clone();
    let prepared = dispatcher.host(&board).prepare_workspace(&claimed.task);
    let workspace = match prepared {
        Ok(workspace) => workspace,
        Err(problem) => {
            let problem = format!("could not prepare a workspace for {}: {problem}", args.id);
            return Err(give_back(&mut session, &args.id, &lock, &problem)?);
        }
    };
    let claimant = Claimant {
        run: claimed.run,
        lock: &lock,
        host: host.as_ref().map(|host| host.id.as_str()),
    };
    record(&mut session, &args.id, claimant, &workspace)?;
    kanban.line(format!("Claimed {}", args.id))?;
    kanban.line(format!("Workspace: {}", workspace.path.display()))
}

fn record(
    session: &mut BoardSession<'_>,
    id: &TaskId,
    claimant: Claimant<'_>,
    workspace: &ResolvedWorkspace,
) -> Result<()> {
    match session.store.record_workspace(id, claimant, workspace)? {
        Applied::Yes => Ok(()),
        Applied::LostRace => Err(refusal(format!("{id} was reclaimed in the meantime"))),
    }
}

/// Releases a card that was just claimed, and returns why.
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
            "cannot claim {shown}: it is waiting for open parents"
        ))
        .hint(format!("`hermes kanban why {shown}` names them")),
        ClaimOutcome::TooEarly { at } => refusal(format!(
            "cannot claim {shown}: it is scheduled for {}",
            session.minute(*at)
        )),
        ClaimOutcome::Full(cap) => refusal(format!(
            "cannot claim {shown}: {} in progress, kanban.{} is {}",
            cap.current, cap.cap, cap.limit
        )),
        ClaimOutcome::Unknown | ClaimOutcome::Claimed(_) => {
            hermes_board::Error::UnknownTask { id: id.clone() }.into()
        }
    }
}
