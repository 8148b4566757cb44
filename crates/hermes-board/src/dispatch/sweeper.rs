//! Applies the part of a plan that is about running cards: one action, one conditional write.

use std::collections::BTreeMap;

use crate::Result;
use crate::model::{TaskId, Termination};
use crate::plan::{Action, EndWorker, Report, WorkerRef};
use crate::store::{Applied, AttemptEnd, BoardStore, ClaimSeen, Release};

/// How long a worker that cannot be terminated keeps its card.
const DEFER_SECONDS: i64 = 120;

/// Whether an action went as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SweepResult {
    AsPlanned,
    Diverged,
}

/// Applies actions about running cards.
pub(super) struct Sweeper<'a, S> {
    pub(super) store: &'a mut S,
    /// What became of workers that had to be terminated.
    pub(super) ended: &'a BTreeMap<TaskId, Termination>,
    pub(super) report: &'a mut Report,
}

impl<S: BoardStore> Sweeper<'_, S> {
    /// Applies one action. A card whose worker could not be terminated stays with it: no second
    /// worker may start.
    pub(super) fn apply(&mut self, action: &Action) -> Result<SweepResult> {
        match action {
            Action::Adopt { worker } => self.adopt(worker),
            Action::Extend { task, seen, until } => {
                let applied = self.store.extend_claim(task, seen, *until)?;
                Ok(self.settle(applied, task, |report| &mut report.extended))
            }
            Action::EndAttempt {
                task,
                seen,
                end,
                worker,
            } => match self.end_of(task, worker) {
                Ok(termination) => {
                    let release = self.store.end_attempt(task, seen, end, termination)?;
                    Ok(self.release(release, task, end))
                }
                Err(alive) => self.defer(task, seen, end, alive),
            },
            Action::WakeDue { .. }
            | Action::Promote { .. }
            | Action::NoteWaiting { .. }
            | Action::AssignDefault { .. }
            | Action::SendBack { .. }
            | Action::Start { .. } => Ok(SweepResult::AsPlanned),
        }
    }

    fn adopt(&mut self, worker: &WorkerRef) -> Result<SweepResult> {
        // Without attempt and process there is nothing to record.
        let (Some(run), Some(pid)) = (worker.run, worker.pid) else {
            return Ok(SweepResult::AsPlanned);
        };
        let identity = worker.identity.as_ref();
        let applied = self
            .store
            .record_spawned(&worker.task, run, pid, identity)?;
        Ok(self.settle(applied, &worker.task, |report| &mut report.adopted))
    }

    /// What is recorded about the worker; an error if it is alive.
    fn end_of(
        &self,
        task: &TaskId,
        worker: &EndWorker,
    ) -> std::result::Result<Termination, Termination> {
        match worker {
            EndWorker::OutOfReach => Ok(Termination::default()),
            EndWorker::Gone(worker) => Ok(Termination {
                prev_pid: worker.pid,
                host_local: true,
                terminated: true,
                ..Termination::default()
            }),
            EndWorker::Needed(_) => {
                // A worker without a report must be assumed to be alive.
                let termination = self.ended.get(task).copied().unwrap_or_default();
                if termination.terminated {
                    Ok(termination)
                } else {
                    Err(termination)
                }
            }
        }
    }

    fn defer(
        &mut self,
        task: &TaskId,
        seen: &ClaimSeen,
        end: &AttemptEnd,
        alive: Termination,
    ) -> Result<SweepResult> {
        let until = self.store.now().saturating_add(DEFER_SECONDS);
        let reason = match end {
            AttemptEnd::Expired {
                heartbeat_stale: true,
            } => "heartbeat_stale_worker_alive",
            AttemptEnd::Expired {
                heartbeat_stale: false,
            } => "ttl_expired_worker_alive",
            AttemptEnd::Silent(_) => "silent_worker_alive",
            AttemptEnd::Exited { .. } => "ended_worker_left_processes",
            AttemptEnd::TimedOut { .. } => "timed_out_worker_alive",
        };
        let applied = self.store.defer_reclaim(task, seen, until, reason, alive)?;
        let bucket = match applied {
            Applied::Yes => &mut self.report.reclaim_deferred,
            Applied::LostRace => &mut self.report.lost_race,
        };
        bucket.push(task.clone());
        Ok(SweepResult::Diverged)
    }

    fn settle(
        &mut self,
        applied: Applied,
        task: &TaskId,
        bucket: impl FnOnce(&mut Report) -> &mut Vec<TaskId>,
    ) -> SweepResult {
        match applied {
            Applied::Yes => {
                bucket(self.report).push(task.clone());
                SweepResult::AsPlanned
            }
            Applied::LostRace => {
                self.report.lost_race.push(task.clone());
                SweepResult::Diverged
            }
        }
    }

    fn release(&mut self, release: Release, task: &TaskId, end: &AttemptEnd) -> SweepResult {
        let applied = match release {
            Release::LostRace => Applied::LostRace,
            Release::Requeued { .. } => Applied::Yes,
            Release::Blocked { .. } => {
                self.report.auto_blocked.push(task.clone());
                Applied::Yes
            }
        };
        self.settle(applied, task, |report| report.ended(end))
    }
}
