//! Running cards: expired claims, silent workers, exited workers, time limits.
//!
//! The four checks come in the order of the reference; a card that one of them releases is ready for
//! the rest of the plan. A worker is terminated before its card is reclaimed, and one that could not
//! be terminated keeps its card: no second worker starts beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Outcome, WorkerExit};
use crate::plan::action::PlanInput;
use crate::plan::age::since;
use crate::plan::queue::Waiting;
use crate::plan::{Action, EndWorker, Plan, WorkerFact, WorkerRef};
use crate::store::{AttemptEnd, EndedRun, FailurePolicy, RunningTask, Silence};

/// How old a heartbeat may be.
const HEARTBEAT_SECONDS: i64 = 3600;
/// More than two maintained clocks ever differ.
const DAY: i64 = 24 * 3600;
/// Equal crashes from which on the cards are not to blame.
const SYSTEMIC: usize = 3;

/// What the sweep leaves of the running cards.
pub(super) struct SweepResult<'a> {
    /// Cards that are ready now.
    pub(super) freed: Vec<Waiting<'a>>,
    pub(super) running: Vec<&'a RunningTask>,
}

/// Plans what to do about every running card.
pub(super) fn sweep<'a>(input: PlanInput<'a>, plan: &mut Plan) -> SweepResult<'a> {
    let mut sweep = Sweep {
        input,
        plan,
        freed: Vec::new(),
        running: input.board.running.iter().map(Card::new(input)).collect(),
    };
    let unrecorded = sweep.adopt();
    sweep.each(Sweep::claim_expired);
    if input.limits.stale_timeout_seconds > 0 {
        sweep.each(Sweep::is_silent);
    }
    let systemic = sweep.systemic_exits();
    sweep.each(|sweep, card| sweep.ended(card, &systemic));
    sweep.each(Sweep::exceeds_time_limit);
    sweep.extend_claims();
    SweepResult {
        freed: sweep.freed,
        running: sweep
            .running
            .into_iter()
            .map(|card| card.task)
            .chain(unrecorded)
            .collect(),
    }
}

struct Sweep<'a, 'p> {
    input: PlanInput<'a>,
    plan: &'p mut Plan,
    freed: Vec<Waiting<'a>>,
    running: Vec<Card<'a>>,
}

/// A running card with what is known of its worker.
struct Card<'a> {
    task: &'a RunningTask,
    fact: WorkerFact,
    /// Seconds since the attempt began, if known.
    age: Option<i64>,
}

/// What a check decided about a card.
enum Decision {
    Keep,
    /// The card is ready again.
    Freed {
        outcome: Outcome,
        failures: i64,
    },
    Blocked,
}

impl<'a> Card<'a> {
    fn new(input: PlanInput<'a>) -> impl Fn(&'a RunningTask) -> Self {
        move |task| {
            let fact = input.facts.worker(&task.card.id);
            let age = match fact {
                // The age of the process does not depend on the wall clock.
                WorkerFact::Alive {
                    age_seconds: Some(age),
                } => Some(age),
                _ => task
                    .started_at
                    .and_then(|started| since(input.now, started)),
            };
            Self { task, fact, age }
        }
    }

    fn worker(&self) -> WorkerRef {
        WorkerRef {
            task: self.task.card.id.clone(),
            run: self.task.claim.run,
            pid: self.task.claim.pid.and_then(|pid| u32::try_from(pid).ok()),
            identity: self.task.identity.clone(),
        }
    }

    /// What to do about the worker before the card is released.
    fn end_worker(&self) -> EndWorker {
        match self.fact {
            WorkerFact::OtherHost | WorkerFact::NotStarted | WorkerFact::Abandoned => {
                EndWorker::OutOfReach
            }
            WorkerFact::Gone { .. } | WorkerFact::LostInRestart => EndWorker::Gone(self.worker()),
            WorkerFact::Alive { .. }
            | WorkerFact::Unrecorded { .. }
            | WorkerFact::Survivors { .. } => EndWorker::Needed(self.worker()),
        }
    }

    /// How the worker exited, if it did.
    fn exit(&self) -> Option<WorkerExit> {
        match self.fact {
            WorkerFact::Survivors { exit } | WorkerFact::Gone { exit } => Some(exit),
            WorkerFact::LostInRestart => Some(WorkerExit::Unknown),
            WorkerFact::OtherHost
            | WorkerFact::NotStarted
            | WorkerFact::Abandoned
            | WorkerFact::Alive { .. }
            | WorkerFact::Unrecorded { .. } => None,
        }
    }

    /// Whether the exit is known, or why it is unknown: then the exit is recorded, and not an expired
    /// claim or missing heartbeats.
    fn has_known_exit(&self) -> bool {
        match self.fact {
            WorkerFact::Survivors { .. } | WorkerFact::LostInRestart => true,
            WorkerFact::Gone { exit } => exit != WorkerExit::Unknown,
            WorkerFact::OtherHost
            | WorkerFact::NotStarted
            | WorkerFact::Abandoned
            | WorkerFact::Alive { .. }
            | WorkerFact::Unrecorded { .. } => false,
        }
    }

    /// Whether the last heartbeat is too old; a worker that never sent one is not stale.
    fn is_heartbeat_stale(&self, now: i64) -> bool {
        let silent_for = self
            .task
            .last_heartbeat_at
            .and_then(|beat| since(now, beat));
        silent_for.is_some_and(|silent| silent > HEARTBEAT_SECONDS)
    }

    /// Whether the attempt began in the future: then it was claimed before a clock was set back, and
    /// the expiry of its claim means nothing. The clock of another host may just be ahead of ours.
    fn is_from_a_wrong_clock(&self, now: i64) -> bool {
        self.task.started_at.is_some_and(|started| {
            let certain = self.fact != WorkerFact::OtherHost || started.saturating_sub(now) > DAY;
            certain && since(now, started).is_none()
        })
    }

    /// The card is ready again, and the end of its attempt is no failure.
    fn freed(&self, outcome: Outcome) -> Decision {
        Decision::Freed {
            outcome,
            failures: self.task.card.consecutive_failures,
        }
    }
}

impl<'a> Sweep<'a, '_> {
    /// Records workers that nobody recorded. The next tick judges them like any other.
    fn adopt(&mut self) -> Vec<&'a RunningTask> {
        let (found, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.running)
            .into_iter()
            .partition(|card| matches!(card.fact, WorkerFact::Unrecorded { .. }));
        self.running = rest;
        for card in &found {
            if let WorkerFact::Unrecorded { worker } = &card.fact {
                self.plan.report.adopted.push(worker.task.clone());
                self.plan.actions.push(Action::Adopt {
                    worker: worker.clone(),
                });
            }
        }
        found.into_iter().map(|card| card.task).collect()
    }

    /// Applies one check to every card that is still running.
    fn each(&mut self, check: impl Fn(&mut Self, &Card<'a>) -> Decision) {
        for card in std::mem::take(&mut self.running) {
            match check(self, &card) {
                Decision::Keep => self.running.push(card),
                Decision::Freed { outcome, failures } => self.free(card.task, outcome, failures),
                Decision::Blocked => self
                    .plan
                    .report
                    .auto_blocked
                    .push(card.task.card.id.clone()),
            }
        }
    }

    fn free(&mut self, task: &'a RunningTask, outcome: Outcome, failures: i64) {
        let now = self.input.now;
        let mut guard = task.card.guard.clone();
        guard.last_run = Some(EndedRun {
            outcome: Some(outcome),
            ended_at: now,
        });
        match outcome {
            // Reclaiming counts as asking for the card again.
            Outcome::Reclaimed => guard.requeued_at = Some(now),
            // What is recorded about these outcomes is never about permission.
            Outcome::Crashed | Outcome::TimedOut => guard.last_failure_error = None,
            _ => {}
        }
        self.freed.push(Waiting {
            card: &task.card,
            guard: Cow::Owned(guard),
            failures,
        });
    }

    fn end_attempt(&mut self, card: &Card<'_>, end: AttemptEnd) {
        let task = card.task.card.id.clone();
        self.plan.report.ended(&end).push(task.clone());
        self.plan.actions.push(Action::EndAttempt {
            task,
            seen: card.task.claim.clone(),
            end,
            worker: card.end_worker(),
        });
    }

    fn claim_expired(&mut self, card: &Card<'a>) -> Decision {
        let now = self.input.now;
        let lives_on =
            matches!(card.fact, WorkerFact::Alive { .. }) && !card.is_heartbeat_stale(now);
        if lives_on || card.has_known_exit() || !self.is_expired(card) {
            return Decision::Keep;
        }
        let heartbeat_stale = card.is_heartbeat_stale(now);
        self.end_attempt(card, AttemptEnd::Expired { heartbeat_stale });
        card.freed(Outcome::Reclaimed)
    }

    fn is_expired(&self, card: &Card<'a>) -> bool {
        let PlanInput { limits, now, .. } = self.input;
        if card.fact == WorkerFact::Abandoned {
            return true;
        }
        match card.task.claim.expires {
            Some(expires) => expires < now || card.is_from_a_wrong_clock(now),
            // A claim without expiry and without worker has nothing to wait for.
            None if card.task.claim.pid.is_none() => true,
            None => card.age.is_none_or(|age| age >= limits.claim_ttl_seconds),
        }
    }

    /// Extends the claims of workers that may go on. Last, because an action about a claim holds only
    /// as long as nothing else changes the claim.
    fn extend_claims(&mut self) {
        let PlanInput { limits, now, .. } = self.input;
        for card in &self.running {
            if matches!(card.fact, WorkerFact::Alive { .. }) && self.is_expired(card) {
                let task = card.task;
                self.plan.report.extended.push(task.card.id.clone());
                self.plan.actions.push(Action::Extend {
                    task: task.card.id.clone(),
                    seen: task.claim.clone(),
                    until: now.saturating_add(limits.claim_ttl_seconds),
                });
            }
        }
    }

    fn is_silent(&mut self, card: &Card<'a>) -> Decision {
        let PlanInput { limits, now, .. } = self.input;
        let timeout_seconds = limits.stale_timeout_seconds;
        let task = card.task;
        let Some(elapsed_seconds) = card.age.filter(|age| *age >= timeout_seconds) else {
            return Decision::Keep;
        };
        let heartbeat_age_seconds = task.last_heartbeat_at.and_then(|beat| since(now, beat));
        let is_fresh = heartbeat_age_seconds.is_some_and(|age| age <= HEARTBEAT_SECONDS);
        // On another host the worker cannot be terminated: there the claim has to expire first.
        let is_ours = card.fact != WorkerFact::OtherHost;
        if is_fresh || !is_ours || card.has_known_exit() {
            return Decision::Keep;
        }
        let silence = Silence {
            elapsed_seconds,
            last_heartbeat_at: task.last_heartbeat_at,
            heartbeat_age_seconds,
            timeout_seconds,
        };
        self.end_attempt(card, AttemptEnd::Silent(silence));
        card.freed(Outcome::Stale)
    }

    fn is_past_grace(&self, card: &Card<'a>) -> bool {
        card.age
            .is_none_or(|age| age >= self.input.limits.crash_grace_seconds)
    }

    /// Exits that so many workers share that the cards are not to blame. A restart of the machine
    /// explains itself and is not counted.
    fn systemic_exits(&self) -> Vec<WorkerExit> {
        let mut counts: BTreeMap<(u8, i32), (WorkerExit, usize)> = BTreeMap::new();
        for card in self.running.iter().filter(|card| self.is_past_grace(card)) {
            let (WorkerFact::Survivors { exit } | WorkerFact::Gone { exit }) = card.fact else {
                continue;
            };
            let key = match exit {
                WorkerExit::Code(0 | WorkerExit::QUOTA_WALL) => continue,
                WorkerExit::Code(code) => (0, code),
                WorkerExit::Signal(signal) => (1, signal),
                WorkerExit::Unknown => (2, 0),
            };
            counts.entry(key).or_insert((exit, 0)).1 += 1;
        }
        counts
            .into_values()
            .filter(|(_, count)| *count >= SYSTEMIC)
            .map(|(exit, _)| exit)
            .collect()
    }

    fn ended(&mut self, card: &Card<'a>, systemic: &[WorkerExit]) -> Decision {
        let task = card.task;
        let Some(exit) = card.exit() else {
            return Decision::Keep;
        };
        if !self.is_past_grace(card) {
            return Decision::Keep;
        }
        let restarted = card.fact == WorkerFact::LostInRestart;
        let policy = FailurePolicy {
            limit: self.input.limits.failure_limit,
            systemic: !restarted && systemic.contains(&exit),
        };
        self.end_attempt(card, AttemptEnd::Exited { exit, policy });
        match exit {
            WorkerExit::Code(WorkerExit::QUOTA_WALL) => card.freed(Outcome::RateLimited),
            WorkerExit::Code(0) => {
                let limit = task
                    .card
                    .max_retries
                    .unwrap_or(FailurePolicy::VIOLATION_LIMIT);
                if task.violation_streak + 1 >= limit {
                    Decision::Blocked
                } else {
                    card.freed(Outcome::Crashed)
                }
            }
            WorkerExit::Code(_) | WorkerExit::Signal(_) | WorkerExit::Unknown => {
                failed(task, policy, Outcome::Crashed)
            }
        }
    }

    fn exceeds_time_limit(&mut self, card: &Card<'a>) -> Decision {
        let task = card.task;
        let limit = task.max_runtime_seconds.filter(|limit| *limit > 0);
        let (Some(limit_seconds), Some(elapsed_seconds)) = (limit, card.age) else {
            return Decision::Keep;
        };
        let lives_here = matches!(card.fact, WorkerFact::Alive { .. });
        if !lives_here || elapsed_seconds < limit_seconds {
            return Decision::Keep;
        }
        let policy = FailurePolicy::with_limit(self.input.limits.failure_limit);
        let end = AttemptEnd::TimedOut {
            elapsed_seconds,
            limit_seconds,
            policy,
        };
        self.end_attempt(card, end);
        failed(task, policy, Outcome::TimedOut)
    }
}

/// What one more failure does to a card.
fn failed(task: &RunningTask, policy: FailurePolicy, outcome: Outcome) -> Decision {
    let limit = match task.card.max_retries {
        Some(own) => own,
        None if policy.systemic => 1,
        None => policy.limit,
    };
    let failures = task.card.consecutive_failures + 1;
    if failures >= limit {
        Decision::Blocked
    } else {
        Decision::Freed { outcome, failures }
    }
}
