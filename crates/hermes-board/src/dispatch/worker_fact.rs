//! Whether a worker is alive, decided from what a machine knows about its processes.
//!
//! A process id alone is never trusted, since it is reused. A worker started in this boot of this
//! machine is judged by its processes, one started in an earlier boot is gone, and of workers on
//! other machines nothing is known but the claim.

use crate::claim_lock::is_same_host;
use crate::model::{RunId, TaskId, WorkerExit, WorkerIdentity};
use crate::plan::{WorkerFact, WorkerRef};
use crate::store::RunningTask;

/// What a machine knows about its processes.
pub trait Processes {
    /// The current boot of this machine.
    fn boot_id(&self) -> &str;

    /// Seconds since the worker of a card started, if exactly this process is alive.
    fn age_of(&self, task: &TaskId, pid: u32, identity: Option<&WorkerIdentity>) -> Option<i64>;

    /// Whether exactly this process has certainly exited.
    fn is_gone(&self, pid: u32, identity: &WorkerIdentity) -> bool;

    /// Live processes whose variables name this attempt, whether or not they are recorded.
    fn of_attempt(&self, task: &TaskId, run: RunId) -> AttemptProcesses;

    /// How the worker of this attempt exited, if this process saw it or a record says it.
    fn exit_of(&self, task: &TaskId, run: RunId) -> Option<WorkerExit>;
}

/// Live processes of one attempt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AttemptProcesses {
    None,
    Worker(WorkerRef),
    /// Only processes that the worker started are alive.
    ChildrenOnly,
}

/// The machine that judges workers.
#[derive(Debug, Clone, Copy)]
pub struct JudgingHost<'a> {
    /// A lock of this machine.
    pub lock: &'a str,
    /// Its id, if it has one.
    pub id: Option<&'a str>,
}

/// What is known of the worker of a card in progress.
pub fn worker_fact(
    running: &RunningTask,
    own: JudgingHost<'_>,
    processes: &impl Processes,
) -> WorkerFact {
    let task = &running.card.id;
    let own_host = match running.host_id.as_deref() {
        // Two machines may have one name, and two installations of one machine share its boot.
        Some(theirs) if own.id != Some(theirs) => return WorkerFact::OtherHost,
        Some(_) => true,
        None => running
            .claim
            .lock
            .as_deref()
            .is_some_and(|lock| is_same_host(own.lock, lock)),
    };
    let same_boot = running
        .identity
        .as_ref()
        .map(|identity| identity.boot_id == processes.boot_id());
    match (own_host, same_boot) {
        // A machine may change its name while workers run.
        (_, Some(true)) | (true, None) => {}
        (true, Some(false)) => return WorkerFact::LostInRestart,
        (false, _) => return WorkerFact::OtherHost,
    }
    let pid = running.claim.pid.and_then(|pid| u32::try_from(pid).ok());
    let run = running.claim.run;
    let found = run.map_or(AttemptProcesses::None, |run| {
        processes.of_attempt(task, run)
    });
    let exit = || {
        run.and_then(|run| processes.exit_of(task, run))
            .unwrap_or(WorkerExit::Unknown)
    };
    let age = pid.and_then(|pid| processes.age_of(task, pid, running.identity.as_ref()));
    match (pid, age, found) {
        (_, Some(age), _) => WorkerFact::Alive {
            age_seconds: Some(age),
        },
        (None, None, AttemptProcesses::Worker(worker)) => WorkerFact::Unrecorded { worker },
        (None, None, AttemptProcesses::None) => {
            match run.and_then(|run| processes.exit_of(task, run)) {
                // The worker exited before it could be recorded.
                Some(exit) => WorkerFact::Gone { exit },
                None if is_abandoned(running, processes) => WorkerFact::Abandoned,
                None => WorkerFact::NotStarted,
            }
        }
        (_, None, AttemptProcesses::ChildrenOnly)
        | (Some(_), None, AttemptProcesses::Worker(_)) => WorkerFact::Survivors { exit: exit() },
        (Some(_), None, AttemptProcesses::None) => WorkerFact::Gone { exit: exit() },
    }
}

/// Whether the dispatcher that claimed the card exited before it started a worker.
fn is_abandoned(running: &RunningTask, processes: &impl Processes) -> bool {
    let Some(dispatcher) = &running.dispatcher else {
        return false;
    };
    let lock = running.claim.lock.as_deref();
    let pid = lock.and_then(|lock| lock.rsplit(':').next()?.parse().ok());
    pid.is_some_and(|pid| processes.is_gone(pid, dispatcher))
}
