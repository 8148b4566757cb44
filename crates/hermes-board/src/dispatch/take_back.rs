//! Taking a card back by hand: its worker is ended first, so that nobody works beside the next one.

use crate::Result;
use crate::dispatch::Workshop;
use crate::model::{TaskId, Termination};
use crate::plan::{WorkerFact, WorkerRef};
use crate::store::{Applied, BoardStore, FailurePolicy, Snapshot};

/// What came of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TakenBack {
    /// The card is ready again.
    Yes,
    /// Its worker could not be ended, so the card stays with it.
    WorkerLives(Termination),
    /// Somebody else changed the card first.
    LostRace,
}

/// Ends the worker of a card, if it runs on this machine, and makes the card ready.
pub fn take_back(
    store: &mut impl BoardStore,
    workshop: &mut impl Workshop,
    id: &TaskId,
    reason: Option<&str>,
) -> Result<TakenBack> {
    let mut board = store.snapshot(FailurePolicy::DEFAULT_LIMIT)?;
    board.running.retain(|running| running.card.id == *id);
    let Some(running) = board.running.first() else {
        // The store says why not, or frees a claim that was left on a card nobody works on.
        let lock = store.task(id)?.and_then(|task| task.claim_lock);
        let applied = store.reclaim(id, lock.as_deref(), reason, Termination::default())?;
        return Ok(outcome(applied));
    };
    let seen = running.claim.clone();
    let worker = WorkerRef {
        task: id.clone(),
        run: seen.run,
        pid: seen.pid.and_then(|pid| u32::try_from(pid).ok()),
        identity: running.identity.clone(),
    };
    let alone = Snapshot {
        taken_at: board.taken_at,
        running: std::mem::take(&mut board.running),
        ..Snapshot::default()
    };
    let termination = match workshop.look(&alone).worker(id) {
        WorkerFact::Alive { .. } | WorkerFact::Survivors { .. } => end(workshop, &worker),
        WorkerFact::Unrecorded { worker } => end(workshop, &worker),
        WorkerFact::Gone { .. } | WorkerFact::LostInRestart => Termination {
            prev_pid: worker.pid,
            host_local: true,
            terminated: true,
            ..Termination::default()
        },
        WorkerFact::Elsewhere | WorkerFact::NotStarted | WorkerFact::Abandoned => Termination {
            prev_pid: worker.pid,
            ..Termination::default()
        },
    };
    if termination.termination_attempted && !termination.terminated {
        return Ok(TakenBack::WorkerLives(termination));
    }
    let applied = store.reclaim(id, seen.lock.as_deref(), reason, termination)?;
    Ok(outcome(applied))
}

fn end(workshop: &mut impl Workshop, worker: &WorkerRef) -> Termination {
    let ended = workshop.end(std::slice::from_ref(worker));
    ended.into_iter().next().unwrap_or(Termination {
        prev_pid: worker.pid,
        host_local: true,
        termination_attempted: true,
        ..Termination::default()
    })
}

fn outcome(applied: Applied) -> TakenBack {
    match applied {
        Applied::Yes => TakenBack::Yes,
        Applied::LostRace => TakenBack::LostRace,
    }
}
