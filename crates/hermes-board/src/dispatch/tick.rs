//! One look at one board, in steps of one effect each.
//!
//! Between any two steps this process may die, and other processes may change the board: nothing a
//! step does relies on an earlier one having been the last word.

use std::collections::{BTreeMap, VecDeque};

use crate::Result;
use crate::dispatch::apply::{Sweeper, Swept};
use crate::dispatch::{NewWorker, Order, Workshop};
use crate::model::{Task, TaskId, Termination};
use crate::plan::{Action, Limits, NotStarted, Plan, Report, Started, WorkerRef, plan};
use crate::store::{
    Applied, BoardStore, ClaimFrom, ClaimOutcome, ClaimRequest, Claimed, FailurePolicy, Release,
    ResolvedWorkspace,
};

/// How long what was seen of a board is acted upon.
const PLAN_SECONDS: i64 = 120;

/// Whether there is more to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Call again.
    More,
    /// The look is over.
    Done,
}

/// One look at one board.
#[derive(Debug)]
pub struct Tick {
    limits: Limits,
    /// Text of our claims.
    lock: String,
    stage: Stage,
    queue: VecDeque<Action>,
    /// What became of workers that had to be ended.
    ended: BTreeMap<TaskId, Termination>,
    /// Whether cards in progress did not do as the plan had it.
    diverged: bool,
    /// When the board was last looked at, and whether that was for cards that wait only.
    looked: (i64, bool),
    report: Report,
}

#[derive(Debug)]
enum Stage {
    Reap,
    /// Take a snapshot and plan. The second time only for cards that wait.
    Look {
        again: bool,
    },
    /// End the workers that the plan wants ended.
    End,
    /// Take the next action.
    Act,
    /// A card is ours and needs a directory.
    Claimed(Box<Start>),
    /// It has one, which is to be recorded.
    Prepared(Box<Start>, ResolvedWorkspace),
    /// Recorded; the worker can start.
    Recorded(Box<Start>, ResolvedWorkspace),
    /// It runs, which is to be recorded.
    Running(Box<Start>, ResolvedWorkspace, NewWorker),
    /// It runs for nothing: the card is no longer ours.
    Unwanted(Box<Start>, NewWorker),
    /// It could not be started, which is to be recorded.
    Failed(Box<Start>, String),
    Over,
}

/// A card that is getting a worker.
#[derive(Debug)]
struct Start {
    claimed: Claimed,
    from: ClaimFrom,
}

impl Start {
    fn id(&self) -> &TaskId {
        &self.claimed.task.id
    }
}

impl Tick {
    /// A look that has not begun.
    pub fn new(limits: Limits, lock: String) -> Self {
        Self {
            limits,
            lock,
            stage: Stage::Reap,
            queue: VecDeque::new(),
            ended: BTreeMap::new(),
            diverged: false,
            looked: (i64::MIN, false),
            report: Report::default(),
        }
    }

    /// What a look would do now. Changes nothing.
    pub fn preview(
        limits: &Limits,
        store: &impl BoardStore,
        workshop: &impl Workshop,
    ) -> Result<Plan> {
        let board = store.snapshot(limits.failure_limit)?;
        Ok(plan(&board, &workshop.look(&board), limits))
    }

    /// Takes the whole look.
    pub fn run(
        mut self,
        store: &mut impl BoardStore,
        workshop: &mut impl Workshop,
    ) -> Result<Report> {
        while self.step(store, workshop)? == Step::More {}
        Ok(self.report)
    }

    /// What has been done so far.
    pub fn report(&self) -> &Report {
        &self.report
    }

    /// Does one thing. After an error the look is over.
    pub fn step(
        &mut self,
        store: &mut impl BoardStore,
        workshop: &mut impl Workshop,
    ) -> Result<Step> {
        self.stage = match std::mem::replace(&mut self.stage, Stage::Over) {
            Stage::Reap => {
                workshop.reap();
                Stage::Look { again: false }
            }
            Stage::Look { again } => self.look(again, store, workshop)?,
            Stage::End => self.end(workshop),
            Stage::Act => self.act(store, workshop)?,
            Stage::Claimed(start) => match workshop.prepare(&start.claimed.task) {
                Ok(workspace) => Stage::Prepared(start, workspace),
                Err(error) => Stage::Failed(start, format!("workspace: {error}")),
            },
            Stage::Prepared(start, workspace) => {
                match store.record_workspace(start.id(), start.claimed.run, &workspace)? {
                    Applied::Yes => Stage::Recorded(start, workspace),
                    Applied::LostRace => self.lose(start.id()),
                }
            }
            Stage::Recorded(start, workspace) => self.start(start, workspace, workshop),
            Stage::Running(start, workspace, worker) => {
                self.record_worker(start, &workspace, worker, store, workshop)?
            }
            Stage::Unwanted(start, worker) => {
                end_unwanted(&start, &worker, workshop);
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

    fn look(
        &mut self,
        again: bool,
        store: &impl BoardStore,
        workshop: &impl Workshop,
    ) -> Result<Stage> {
        self.looked = (store.now(), again);
        let plan = Self::preview(&self.limits, store, workshop)?;
        self.take_reasons(plan.report);
        self.queue = plan.actions.into();
        if again {
            // Cards in progress have had their turn; what is new about them can wait.
            self.queue.retain(|action| !action.is_sweep());
        }
        self.diverged = false;
        let ends_workers = self.queue.iter().any(|act| act.worker_to_end().is_some());
        Ok(if ends_workers { Stage::End } else { Stage::Act })
    }

    /// Why cards get no worker is known from the plan; what happens is reported when it has.
    fn take_reasons(&mut self, plan: Report) {
        let report = &mut self.report;
        report.skipped_unassigned = plan.skipped_unassigned;
        report.skipped_nonspawnable = plan.skipped_nonspawnable;
        report.skipped_per_profile_capped = plan.skipped_per_profile_capped;
        report.skipped_capped = plan.skipped_capped;
        report.skipped_scheduled = plan.skipped_scheduled;
        report.respawn_guarded = plan.respawn_guarded;
    }

    fn end(&mut self, workshop: &mut impl Workshop) -> Stage {
        let workers: Vec<WorkerRef> = self
            .queue
            .iter()
            .filter_map(|action| action.worker_to_end().cloned())
            .collect();
        let terminations = workshop.end(&workers);
        let tasks = workers.into_iter().map(|worker| worker.task);
        self.ended = tasks.zip(terminations).collect();
        Stage::Act
    }

    fn act(&mut self, store: &mut impl BoardStore, workshop: &impl Workshop) -> Result<Stage> {
        let (looked_at, again) = self.looked;
        if !(0..PLAN_SECONDS).contains(&store.now().saturating_sub(looked_at)) {
            // The clock was set, or this machine slept: what had run out may be in force.
            return Ok(Stage::Look { again });
        }
        if self.diverged && self.queue.front().is_none_or(|action| !action.is_sweep()) {
            // Who waits for what may be different now.
            return Ok(Stage::Look { again: true });
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
            self.diverged |= sweeper.apply(&action)? == Swept::Otherwise;
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
            Action::NoteGuarded { guarded } => {
                store.note_guarded(&guarded)?;
            }
            Action::AssignDefault { task, assignee } => {
                match store.assign_default(&task, &assignee)? {
                    Applied::Yes => self.report.auto_assigned_default.push(task),
                    Applied::LostRace => return Ok(self.lose_start(task)),
                }
            }
            Action::SendBack { task } => {
                return self.claim(task, ClaimFrom::Ready, store, workshop);
            }
            Action::Start {
                task,
                from,
                leftover,
            } => {
                let is_free =
                    leftover.is_none() || self.ended.get(&task).is_some_and(|end| end.terminated);
                if is_free {
                    return self.claim(task, from, store, workshop);
                }
                self.report.reclaim_deferred.push(task);
            }
            Action::Adopt { .. }
            | Action::Extend { .. }
            | Action::Reclaim { .. }
            | Action::ReclaimSilent { .. }
            | Action::RecordExit { .. }
            | Action::TimeOut { .. } => {}
        }
        Ok(Stage::Act)
    }

    fn claim(
        &mut self,
        task: TaskId,
        from: ClaimFrom,
        store: &mut impl BoardStore,
        workshop: &impl Workshop,
    ) -> Result<Stage> {
        let request = ClaimRequest {
            task: task.clone(),
            lock: self.lock.clone(),
            ttl_seconds: self.limits.claim_ttl_seconds,
            from,
        };
        let outcome = store.claim_for_worker(&request, workshop.dispatcher().as_ref())?;
        Ok(match outcome {
            ClaimOutcome::Claimed(claimed) => Stage::Claimed(Box::new(Start {
                claimed: *claimed,
                from,
            })),
            ClaimOutcome::ParentsOpen => {
                self.report.sent_back.push(task);
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
        workshop: &mut impl Workshop,
    ) -> Stage {
        let Task {
            started_at,
            claim_expires,
            ..
        } = start.claimed.task;
        // The first claim ever is the one that set the time of the first claim ever.
        let ttl = self.limits.claim_ttl_seconds.max(1);
        let is_first_attempt = started_at
            .zip(claim_expires)
            .is_some_and(|(started, expires)| expires - started == ttl);
        let started = workshop.start(&Order {
            task: &start.claimed.task,
            run: start.claimed.run,
            lock: &self.lock,
            workspace: &workspace,
            review: start.from == ClaimFrom::Review,
            is_first_attempt,
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
        worker: NewWorker,
        store: &mut impl BoardStore,
        workshop: &mut impl Workshop,
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
                // Nobody would know whose it is.
                end_unwanted(&start, &worker, workshop);
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

    /// Somebody else gave the card away: it is theirs to say what happens to it.
    fn lose_start(&mut self, task: TaskId) -> Stage {
        let next = self.queue.front();
        if matches!(next, Some(Action::Start { task: next, .. }) if *next == task) {
            self.queue.pop_front();
        }
        self.lose(&task)
    }
}

fn end_unwanted(start: &Start, worker: &NewWorker, workshop: &mut impl Workshop) {
    let worker = WorkerRef {
        task: start.id().clone(),
        run: Some(start.claimed.run),
        pid: Some(worker.pid),
        identity: worker.identity.clone(),
    };
    let ended = workshop.end(std::slice::from_ref(&worker));
    if !ended.iter().all(|end| end.terminated) {
        tracing::warn!(
            task = start.id().as_str(),
            pid = worker.pid,
            "a worker whose card is no longer its own could not be ended"
        );
    }
}
