//! Where a worker is and whether it lives, decided from what a machine tells about processes.
//!
//! A number alone is never trusted: it is given out again. What was started in this boot of this
//! machine is judged by its processes, what was started in an earlier one is gone, and about other
//! machines nothing is known but the claim.

use crate::Claimer;
use crate::model::{RunId, TaskId, WorkerExit, WorkerIdentity};
use crate::plan::{WorkerFact, WorkerRef};
use crate::store::RunningTask;

/// What a machine tells about its processes.
pub trait Processes {
    /// The boot this machine is in.
    fn boot_id(&self) -> &str;

    /// Seconds since the worker of a card started, if exactly this process lives.
    fn age_of(&self, task: &TaskId, pid: u32, identity: Option<&WorkerIdentity>) -> Option<i64>;

    /// Whether exactly this process has certainly ended, whatever it did.
    fn is_gone(&self, pid: u32, identity: &WorkerIdentity) -> bool;

    /// Live processes that say they belong to this attempt, whether or not they are on record.
    fn of_attempt(&self, task: &TaskId, run: RunId) -> Kin;

    /// How the worker of this attempt ended, if that was seen or left in writing.
    fn exit_of(&self, task: &TaskId, run: RunId) -> Option<WorkerExit>;
}

/// Live processes of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Kin {
    /// There are none.
    Nobody,
    /// The worker itself lives.
    Leader(WorkerRef),
    /// Only processes that it started live.
    Others,
}

/// What is known of the worker of a card in progress.
pub fn worker_fact(
    running: &RunningTask,
    claimer: &Claimer,
    processes: &impl Processes,
) -> WorkerFact {
    let task = &running.card.id;
    let own_host = running
        .claim
        .lock
        .as_deref()
        .is_some_and(|lock| claimer.shares_host_with(lock));
    let same_boot = running
        .identity
        .as_ref()
        .map(|identity| identity.boot_id == processes.boot_id());
    match (own_host, same_boot) {
        // A machine may change its name while workers run.
        (_, Some(true)) | (true, None) => {}
        (true, Some(false)) => return WorkerFact::LostInRestart,
        (false, _) => return WorkerFact::Elsewhere,
    }
    let pid = running.claim.pid.and_then(|pid| u32::try_from(pid).ok());
    let run = running.claim.run;
    let kin = run.map_or(Kin::Nobody, |run| processes.of_attempt(task, run));
    let exit = || {
        run.and_then(|run| processes.exit_of(task, run))
            .unwrap_or(WorkerExit::Unknown)
    };
    let age = pid.and_then(|pid| processes.age_of(task, pid, running.identity.as_ref()));
    match (pid, age, kin) {
        (_, Some(age), _) => WorkerFact::Alive {
            age_seconds: Some(age),
        },
        (None, None, Kin::Leader(worker)) => WorkerFact::Unrecorded { worker },
        (None, None, Kin::Nobody) => match run.and_then(|run| processes.exit_of(task, run)) {
            // It ended before anybody could say that it was there.
            Some(exit) => WorkerFact::Gone { exit },
            None if is_abandoned(running, processes) => WorkerFact::Abandoned,
            None => WorkerFact::NotStarted,
        },
        (_, None, Kin::Others) | (Some(_), None, Kin::Leader(_)) => {
            WorkerFact::Survivors { exit: exit() }
        }
        (Some(_), None, Kin::Nobody) => WorkerFact::Gone { exit: exit() },
    }
}

/// Whether whoever claimed the card in order to start a worker has ended before it could.
fn is_abandoned(running: &RunningTask, processes: &impl Processes) -> bool {
    let Some(dispatcher) = &running.dispatcher else {
        return false;
    };
    let lock = running.claim.lock.as_deref();
    let pid = lock.and_then(|lock| lock.rsplit(':').next()?.parse().ok());
    pid.is_some_and(|pid| processes.is_gone(pid, dispatcher))
}
