//! Cards in progress: one action, one conditional write.

use std::collections::BTreeMap;

use crate::Result;
use crate::model::{TaskId, Termination, WorkerExit};
use crate::plan::{Action, EndWorker, Report, WorkerRef};
use crate::store::{Applied, BoardStore, ClaimSeen, FailurePolicy, Release, Timeout};

/// How long a card whose worker cannot be ended is left to it.
const DEFER_SECONDS: i64 = 120;

/// Whether things went as planned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Swept {
    AsPlanned,
    Otherwise,
}

/// Carries out what a plan wants done with cards in progress.
pub(super) struct Sweeper<'a, S> {
    pub(super) store: &'a mut S,
    /// What became of workers that had to be ended.
    pub(super) ended: &'a BTreeMap<TaskId, Termination>,
    pub(super) report: &'a mut Report,
}

/// A card whose worker lives though it should not.
struct Lives {
    reason: &'static str,
    termination: Termination,
}

impl<S: BoardStore> Sweeper<'_, S> {
    /// Carries out one action. A card whose worker could not be ended keeps it: nobody may start
    /// beside it.
    pub(super) fn apply(&mut self, action: &Action) -> Result<Swept> {
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
                    Err(lives) => self.defer(task, seen, &lives),
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
                Err(lives) => self.defer(task, seen, &lives),
            },
            Action::RecordExit {
                task,
                seen,
                exit,
                policy,
                end,
            } => match self.end_of(task, end, "ended_worker_left_processes") {
                Ok(_) => self.record_exit(task, seen, *exit, policy),
                Err(lives) => self.defer(task, seen, &lives),
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
                Err(lives) => self.defer(task, seen, &lives),
            },
            Action::WakeDue { .. }
            | Action::Promote { .. }
            | Action::NoteGuarded { .. }
            | Action::AssignDefault { .. }
            | Action::SendBack { .. }
            | Action::Start { .. } => Ok(Swept::AsPlanned),
        }
    }

    fn adopt(&mut self, worker: &WorkerRef) -> Result<Swept> {
        // Without either there is nothing to record.
        let (Some(run), Some(pid)) = (worker.run, worker.pid) else {
            return Ok(Swept::AsPlanned);
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
    ) -> Result<Swept> {
        let release = self.store.record_exit(task, seen, exit, policy)?;
        Ok(self.release(release, task, |report| match exit {
            WorkerExit::Code(WorkerExit::QUOTA_WALL) => &mut report.rate_limited,
            WorkerExit::Code(_) | WorkerExit::Signal(_) | WorkerExit::Unknown => {
                &mut report.crashed
            }
        }))
    }

    /// What is recorded about the worker; an error if it lives.
    fn end_of(
        &self,
        task: &TaskId,
        end: &EndWorker,
        reason: &'static str,
    ) -> std::result::Result<Termination, Lives> {
        match end {
            EndWorker::OutOfReach => Ok(Termination::default()),
            EndWorker::Gone(worker) => Ok(Termination {
                prev_pid: worker.pid,
                host_local: true,
                terminated: true,
                ..Termination::default()
            }),
            EndWorker::Needed(_) => {
                // Of one that nothing is known about it must be assumed that it lives.
                let termination = self.ended.get(task).copied().unwrap_or_default();
                if termination.terminated {
                    Ok(termination)
                } else {
                    Err(Lives {
                        reason,
                        termination,
                    })
                }
            }
        }
    }

    fn defer(&mut self, task: &TaskId, seen: &ClaimSeen, lives: &Lives) -> Result<Swept> {
        let until = self.store.now().saturating_add(DEFER_SECONDS);
        let (reason, termination) = (lives.reason, lives.termination);
        let applied = self
            .store
            .defer_reclaim(task, seen, until, reason, termination)?;
        let bucket = match applied {
            Applied::Yes => &mut self.report.reclaim_deferred,
            Applied::LostRace => &mut self.report.lost_race,
        };
        bucket.push(task.clone());
        Ok(Swept::Otherwise)
    }

    fn settle(
        &mut self,
        applied: Applied,
        task: &TaskId,
        bucket: impl FnOnce(&mut Report) -> &mut Vec<TaskId>,
    ) -> Swept {
        match applied {
            Applied::Yes => {
                bucket(self.report).push(task.clone());
                Swept::AsPlanned
            }
            Applied::LostRace => {
                self.report.lost_race.push(task.clone());
                Swept::Otherwise
            }
        }
    }

    fn release(
        &mut self,
        release: Release,
        task: &TaskId,
        bucket: impl FnOnce(&mut Report) -> &mut Vec<TaskId>,
    ) -> Swept {
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
