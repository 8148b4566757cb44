//! Reclaiming a card by hand: its worker is terminated first, so that no two work on the card.

use crate::Result;
use crate::dispatch::WorkerHost;
use crate::model::{TaskId, Termination};
use crate::plan::{WorkerFact, WorkerRef};
use crate::store::{Applied, BoardStore, FailurePolicy, Snapshot};

/// Outcome of [`reclaim`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reclaimed {
    Yes,
    /// The worker could not be terminated, so it keeps the card.
    WorkerAlive(Termination),
    LostRace,
}

/// Terminates the worker of a card, if it runs on this machine, and makes the card ready.
pub fn reclaim(
    store: &mut impl BoardStore,
    host: &mut impl WorkerHost,
    id: &TaskId,
    reason: Option<&str>,
) -> Result<Reclaimed> {
    let mut board = store.snapshot(FailurePolicy::DEFAULT_LIMIT)?;
    board.running.retain(|running| running.card.id == *id);
    let Some(running) = board.running.first() else {
        // The store refuses, or removes a claim that was left on a card nobody works on.
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
    let termination = match host.observe(&alone).worker(id) {
        WorkerFact::Alive { .. } | WorkerFact::Survivors { .. } => terminate(host, &worker),
        WorkerFact::Unrecorded { worker } => terminate(host, &worker),
        WorkerFact::Gone { .. } | WorkerFact::LostInRestart => Termination {
            prev_pid: worker.pid,
            host_local: true,
            terminated: true,
            ..Termination::default()
        },
        WorkerFact::OtherHost | WorkerFact::NotStarted | WorkerFact::Abandoned => Termination {
            prev_pid: worker.pid,
            ..Termination::default()
        },
    };
    if termination.termination_attempted && !termination.terminated {
        return Ok(Reclaimed::WorkerAlive(termination));
    }
    let applied = store.reclaim(id, seen.lock.as_deref(), reason, termination)?;
    Ok(outcome(applied))
}

fn terminate(host: &mut impl WorkerHost, worker: &WorkerRef) -> Termination {
    let ended = host.terminate(std::slice::from_ref(worker));
    ended.into_iter().next().unwrap_or(Termination {
        prev_pid: worker.pid,
        host_local: true,
        termination_attempted: true,
        ..Termination::default()
    })
}

fn outcome(applied: Applied) -> Reclaimed {
    match applied {
        Applied::Yes => Reclaimed::Yes,
        Applied::LostRace => Reclaimed::LostRace,
    }
}
