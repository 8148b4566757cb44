//! Applies the part of a plan that is about running cards: one action, one conditional write.

use std::collections::BTreeMap;

use crate::Result;
use crate::model::{TaskId, Termination, WorkerExit};
use crate::plan::{Action, EndWorker, Report, WorkerRef};
use crate::store::{Applied, BoardStore, ClaimSeen, FailurePolicy, Release, Timeout};

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

/// A worker that could not be terminated.
struct StillAlive {
    reason: &'static str,
    termination: Termination,
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
            Action::Reclaim {
                task,
                seen,
                heartbeat_stale,
                end,
            } => {
                let reason = if *heartbeat_stale {
                    "heartbeat_stale_worker_alive"
                } else {
                    "ttl_expired_worker_alive"
                };
                match self.end_of(task, end, reason) {
                    Ok(end) => {
                        let stale = *heartbeat_stale;
                        let applied = self.store.reclaim_expired(task, seen, stale, end)?;
                        Ok(self.settle(applied, task, |report| &mut report.reclaimed))
                    }
                    Err(alive) => self.defer(task, seen, &alive),
                }
            }
            Action::ReclaimSilent {
                task,
                seen,
                silence,
                end,
            } => match self.end_of(task, end, "silent_worker_alive") {
                Ok(end) => {
                    let applied = self.store.reclaim_silent(task, seen, silence, end)?;
                    Ok(self.settle(applied, task, |report| &mut report.stale))
                }
                Err(alive) => self.defer(task, seen, &alive),
            },
            Action::RecordExit {
                task,
                seen,
                exit,
                policy,
                end,
            } => match self.end_of(task, end, "ended_worker_left_processes") {
                Ok(_) => self.record_exit(task, seen, *exit, policy),
                Err(alive) => self.defer(task, seen, &alive),
            },
            Action::TimeOut {
                task,
                seen,
                elapsed_seconds,
                limit_seconds,
                policy,
                end,
            } => match self.end_of(task, end, "timed_out_worker_alive") {
                Ok(end) => {
                    let pid = seen.pid.or(end.prev_pid.map(i64::from));
                    let timeout = Timeout {
                        pid: pid.unwrap_or(0),
                        elapsed_seconds: *elapsed_seconds,
                        limit_seconds: *limit_seconds,
                        sigkill: end.sigkill,
                    };
                    let release = self.store.record_timeout(task, seen, &timeout, policy)?;
                    Ok(self.release(release, task, |report| &mut report.timed_out))
                }
                Err(alive) => self.defer(task, seen, &alive),
            },
            Action::WakeDue { .. }
            | Action::Promote { .. }
            | Action::NoteGuarded { .. }
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

    fn record_exit(
        &mut self,
        task: &TaskId,
        seen: &ClaimSeen,
        exit: WorkerExit,
        policy: &FailurePolicy,
    ) -> Result<SweepResult> {
        let release = self.store.record_exit(task, seen, exit, policy)?;
        Ok(self.release(release, task, |report| match exit {
            WorkerExit::Code(WorkerExit::QUOTA_WALL) => &mut report.rate_limited,
            WorkerExit::Code(_) | WorkerExit::Signal(_) | WorkerExit::Unknown => {
                &mut report.crashed
            }
        }))
    }

    /// What is recorded about the worker; an error if it is alive.
    fn end_of(
        &self,
        task: &TaskId,
        end: &EndWorker,
        reason: &'static str,
    ) -> std::result::Result<Termination, StillAlive> {
        match end {
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
                    Err(StillAlive {
                        reason,
                        termination,
                    })
                }
            }
        }
    }

    fn defer(
        &mut self,
        task: &TaskId,
        seen: &ClaimSeen,
        alive: &StillAlive,
    ) -> Result<SweepResult> {
        let until = self.store.now().saturating_add(DEFER_SECONDS);
        let (reason, termination) = (alive.reason, alive.termination);
        let applied = self
            .store
            .defer_reclaim(task, seen, until, reason, termination)?;
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

    fn release(
        &mut self,
        release: Release,
        task: &TaskId,
        bucket: impl FnOnce(&mut Report) -> &mut Vec<TaskId>,
    ) -> SweepResult {
        let applied = match release {
            Release::LostRace => Applied::LostRace,
            Release::Requeued { .. } => Applied::Yes,
            Release::Blocked { .. } => {
                self.report.auto_blocked.push(task.clone());
                Applied::Yes
            }
        };
        self.settle(applied, task, bucket)
    }
}
