//! One tick of one board, in steps of one effect each.
//!
//! Between any two steps this process may die, and other processes may change the board: nothing a
//! step does relies on the board being as an earlier step left it.

use std::collections::{BTreeMap, VecDeque};

use crate::Result;
use crate::dispatch::sweeper::{SweepResult, Sweeper};
use crate::dispatch::{SpawnedWorker, WorkerHost, WorkerSpawnRequest};
use crate::model::{TaskId, Termination};
use crate::plan::{Action, Capped, Limits, NotStarted, Plan, Report, Started, WorkerRef, plan};
use crate::store::{
    Applied, BoardStore, ClaimCaps, ClaimFrom, ClaimOutcome, ClaimRequest, Claimant, Claimed,
    FailurePolicy, Release, ResolvedWorkspace,
};

/// How long a plan is valid.
const PLAN_SECONDS: i64 = 120;

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    More,
    Done,
}

/// One tick of one board.
#[derive(Debug)]
pub struct Tick {
    limits: Limits,
    /// The claim of this dispatcher.
    lock: String,
    stage: Stage,
    queue: VecDeque<Action>,
    ended: BTreeMap<TaskId, Termination>,
    /// Whether an action about a running card did not go as planned.
    diverged: bool,
    /// When the plan was made, and whether it is only about waiting cards.
    planned: (i64, bool),
    report: Report,
}

#[derive(Debug)]
enum Stage {
    Reap,
    /// Take a snapshot and plan; the second time only for waiting cards.
    Plan {
        again: bool,
    },
    Terminate,
    Act,
    /// A card is claimed and needs a workspace.
    Claimed(Box<Start>),
    /// The workspace is to be recorded.
    Prepared(Box<Start>, ResolvedWorkspace),
    /// The worker can start.
    Recorded(Box<Start>, ResolvedWorkspace),
    /// The worker is to be recorded.
    Running(Box<Start>, ResolvedWorkspace, SpawnedWorker),
    /// The worker is to be terminated: the card was reclaimed meanwhile.
    Unwanted(Box<Start>, SpawnedWorker),
    /// The failure to start is to be recorded.
    Failed(Box<Start>, String),
    Over,
}

/// A card that is getting a worker.
#[derive(Debug)]
struct Start {
    claimed: Claimed,
    from: ClaimFrom,
    /// Id of this host, as the claim has it.
    host: Option<String>,
}

impl Start {
    fn id(&self) -> &TaskId {
        &self.claimed.task.id
    }
}

impl Tick {
    /// A tick that has not begun.
    pub fn new(limits: Limits, lock: String) -> Self {
        Self {
            limits,
            lock,
            stage: Stage::Reap,
            queue: VecDeque::new(),
            ended: BTreeMap::new(),
            diverged: false,
            planned: (i64::MIN, false),
            report: Report::default(),
        }
    }

    /// What a tick would do now. Changes nothing.
    pub fn preview(
        limits: &Limits,
        store: &impl BoardStore,
        host: &impl WorkerHost,
    ) -> Result<Plan> {
        let board = store.snapshot(limits.failure_limit)?;
        Ok(plan(&board, &host.observe(&board), limits))
    }

    /// Runs the whole tick.
    pub fn run(
        mut self,
        store: &mut impl BoardStore,
        host: &mut impl WorkerHost,
    ) -> Result<Report> {
        while self.step(store, host)? == Step::More {}
        Ok(self.report)
    }

    /// What has been done so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Takes one step. After an error the tick is over.
    pub fn step(
        &mut self,
        store: &mut impl BoardStore,
        host: &mut impl WorkerHost,
    ) -> Result<Step> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Reap => {
                host.reap();
                Stage::Plan { again: false }
            }
            Stage::Plan { again } => self.plan(again, store, host)?,
            Stage::Terminate => self.terminate(host),
            Stage::Act => self.act(store, host)?,
            Stage::Claimed(start) => match host.prepare_workspace(&start.claimed.task) {
                Ok(workspace) => Stage::Prepared(start, workspace),
                Err(error) => Stage::Failed(start, format!("workspace: {error}")),
            },
            Stage::Prepared(start, workspace) => {
                let claimant = Claimant {
                    run: start.claimed.run,
                    lock: &self.lock,
                    host: start.host.as_deref(),
                };
                match store.record_workspace(start.id(), claimant, &workspace)? {
                    Applied::Yes => Stage::Recorded(start, workspace),
                    Applied::LostRace => self.lose(start.id()),
                }
            }
            Stage::Recorded(start, workspace) => self.start(start, workspace, host),
            Stage::Running(start, workspace, worker) => {
                self.record_worker(start, &workspace, worker, store, host)?
            }
            Stage::Unwanted(start, worker) => {
                terminate_unwanted(&start, &worker, host);
                self.lose(start.id())
            }
            Stage::Failed(start, error) => self.record_failure(&start, error, store)?,
            Stage::Over => Stage::Over,
        };
        Ok(match self.stage {
            Stage::Over => Step::Done,
            _ => Step::More,
        })
    }

    fn plan(
        &mut self,
        again: bool,
        store: &impl BoardStore,
        host: &impl WorkerHost,
    ) -> Result<Stage> {
        self.planned = (store.now(), again);
        let plan = Self::preview(&self.limits, store, host)?;
        self.take_reasons(plan.report);
        self.queue = plan.actions.into();
        if again {
            // Running cards have had their turn; what is new about them can wait.
            self.queue.retain(|action| !action.is_sweep());
        }
        self.diverged = false;
        let ends_workers = self.queue.iter().any(|act| act.worker_to_end().is_some());
        Ok(if ends_workers {
            Stage::Terminate
        } else {
            Stage::Act
        })
    }

    /// Takes over why cards get no worker; what is done is reported once it is done.
    fn take_reasons(&mut self, plan: Report) {
        let report = &mut self.report;
        report.skipped_unassigned = plan.skipped_unassigned;
        report.skipped_nonspawnable = plan.skipped_nonspawnable;
        report.skipped_per_profile_capped = plan.skipped_per_profile_capped;
        report.skipped_capped = plan.skipped_capped;
        report.skipped_scheduled = plan.skipped_scheduled;
        report.skipped_placement = plan.skipped_placement;
        report.respawn_guarded = plan.respawn_guarded;
        report.cannot_start = plan.cannot_start;
        report.delayed = plan.delayed;
    }

    fn terminate(&mut self, host: &mut impl WorkerHost) -> Stage {
        let workers: Vec<WorkerRef> = self
            .queue
            .iter()
            .filter_map(|action| action.worker_to_end().cloned())
            .collect();
        let terminations = host.terminate(&workers);
        let tasks = workers.into_iter().map(|worker| worker.task);
        self.ended = tasks.zip(terminations).collect();
        Stage::Act
    }

    fn act(&mut self, store: &mut impl BoardStore, host: &impl WorkerHost) -> Result<Stage> {
        let (planned_at, again) = self.planned;
        if !(0..PLAN_SECONDS).contains(&store.now().saturating_sub(planned_at)) {
            // The clock was set, or this machine slept: expired claims may be in force again.
            return Ok(Stage::Plan { again });
        }
        if self.diverged && self.queue.front().is_none_or(|action| !action.is_sweep()) {
            // Other cards may be ready now.
            return Ok(Stage::Plan { again: true });
        }
        let Some(action) = self.queue.pop_front() else {
            return Ok(Stage::Over);
        };
        if action.is_sweep() {
            let mut sweeper = Sweeper {
                store,
                ended: &self.ended,
                report: &mut self.report,
            };
            self.diverged |= sweeper.apply(&action)? == SweepResult::Diverged;
            return Ok(Stage::Act);
        }
        match action {
            Action::WakeDue { .. } => {
                let woken = store.wake_due()?;
                self.report
                    .woken
                    .extend(woken.into_iter().map(|(id, _)| id));
            }
            Action::Promote { failure_limit, .. } => {
                let promoted = store.promote_satisfied(failure_limit)?;
                self.report.promoted.extend(promoted);
            }
            Action::NoteWaiting { notes } => {
                store.note_waiting(&notes)?;
            }
            Action::AssignDefault { task, assignee } => {
                match store.assign_default(&task, &assignee)? {
                    Applied::Yes => self.report.auto_assigned_default.push(task),
                    Applied::LostRace => return Ok(self.lose_start(task)),
                }
            }
            Action::SendBack { task } => {
                let caps = ClaimCaps::default();
                return self.claim(task, ClaimFrom::Ready, caps, store, host);
            }
            Action::Start {
                task,
                from,
                leftover,
            } => {
                let is_free =
                    leftover.is_none() || self.ended.get(&task).is_some_and(|end| end.terminated);
                if is_free {
                    let caps = self.limits.claim_caps();
                    return self.claim(task, from, caps, store, host);
                }
                self.report.reclaim_deferred.push(task);
            }
            Action::Adopt { .. } | Action::Extend { .. } | Action::EndAttempt { .. } => {}
        }
        Ok(Stage::Act)
    }

    fn claim(
        &mut self,
        task: TaskId,
        from: ClaimFrom,
        caps: ClaimCaps,
        store: &mut impl BoardStore,
        host: &impl WorkerHost,
    ) -> Result<Stage> {
        let request = ClaimRequest {
            task: task.clone(),
            lock: self.lock.clone(),
            ttl_seconds: self.limits.claim_ttl_seconds,
            from,
            dispatcher: host.dispatcher_identity(),
            host: host.host(),
            caps,
        };
        let outcome = store.claim(&request)?;
        Ok(match outcome {
            ClaimOutcome::Claimed(claimed) => Stage::Claimed(Box::new(Start {
                claimed: *claimed,
                from,
                host: request.host.map(|host| host.id),
            })),
            ClaimOutcome::ParentsOpen => {
                self.report.sent_back.push(task);
                Stage::Act
            }
            ClaimOutcome::Full(cap) => {
                // Others claimed cards since this one was planned.
                self.report.skipped_capped.push(Capped {
                    task_id: task,
                    cap: cap.cap,
                    limit: cap.limit,
                    current: cap.current,
                });
                Stage::Act
            }
            ClaimOutcome::NotClaimable { .. }
            | ClaimOutcome::TooEarly { .. }
            | ClaimOutcome::Unknown => self.lose(&task),
        })
    }

    fn start(
        &mut self,
        start: Box<Start>,
        workspace: ResolvedWorkspace,
        host: &mut impl WorkerHost,
    ) -> Stage {
        let started = host.spawn(&WorkerSpawnRequest {
            task: &start.claimed.task,
            run: start.claimed.run,
            lock: &self.lock,
            workspace: &workspace,
            review: start.from == ClaimFrom::Review,
            is_first_attempt: start.claimed.is_first_attempt,
        });
        match started {
            Ok(worker) => Stage::Running(start, workspace, worker),
            Err(error) => Stage::Failed(start, error),
        }
    }

    fn record_worker(
        &mut self,
        start: Box<Start>,
        workspace: &ResolvedWorkspace,
        worker: SpawnedWorker,
        store: &mut impl BoardStore,
        host: &mut impl WorkerHost,
    ) -> Result<Stage> {
        let recorded = store.record_spawned(
            start.id(),
            start.claimed.run,
            worker.pid,
            worker.identity.as_ref(),
        );
        match recorded {
            Ok(Applied::Yes) => {
                let assignee = start.claimed.task.assignee.clone();
                self.report.spawned.push(Started {
                    task_id: start.id().clone(),
                    assignee: assignee.unwrap_or_default(),
                    workspace: workspace.path.to_string_lossy().into_owned(),
                });
                Ok(Stage::Act)
            }
            Ok(Applied::LostRace) => Ok(Stage::Unwanted(start, worker)),
            Err(error) => {
                // A worker that nobody recorded would be nobody's.
                terminate_unwanted(&start, &worker, host);
                Err(error)
            }
        }
    }

    fn record_failure(
        &mut self,
        start: &Start,
        error: String,
        store: &mut impl BoardStore,
    ) -> Result<Stage> {
        let policy = FailurePolicy::with_limit(self.limits.failure_limit);
        let release = store.record_spawn_failure(start.id(), start.claimed.run, &error, &policy)?;
        match release {
            Release::LostRace => return Ok(self.lose(start.id())),
            Release::Requeued { .. } => {}
            Release::Blocked { .. } => self.report.auto_blocked.push(start.id().clone()),
        }
        self.report.spawn_failed.push(NotStarted {
            task_id: start.id().clone(),
            error,
        });
        Ok(Stage::Act)
    }

    fn lose(&mut self, task: &TaskId) -> Stage {
        self.report.lost_race.push(task.clone());
        Stage::Act
    }

    /// Somebody else assigned the card: the planned start is void.
    fn lose_start(&mut self, task: TaskId) -> Stage {
        let next = self.queue.front();
        if matches!(next, Some(Action::Start { task: next, .. }) if *next == task) {
            self.queue.pop_front();
        }
        self.lose(&task)
    }
}

fn terminate_unwanted(start: &Start, worker: &SpawnedWorker, host: &mut impl WorkerHost) {
    let worker = WorkerRef {
        task: start.id().clone(),
        run: Some(start.claimed.run),
        pid: Some(worker.pid),
        identity: worker.identity.clone(),
    };
    let ended = host.terminate(std::slice::from_ref(&worker));
    if !ended.iter().all(|end| end.terminated) {
        tracing::warn!(
            task = start.id().as_str(),
            pid = worker.pid,
            "could not terminate a worker whose card was reclaimed"
        );
    }
}
