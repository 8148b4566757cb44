//! Cards in progress: whose claim ran out, who fell silent, who is gone, who takes too long.
//!
//! The four looks come in the order of the reference; a card that one of them frees is ready for the
//! rest of the plan. A worker is ended before its card is taken back, and what could not be ended
//! keeps its card: no second worker starts beside it.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::model::{Outcome, WorkerExit};
use crate::plan::action::Situation;
use crate::plan::age::since;
use crate::plan::queue::Waiting;
use crate::plan::{Action, EndWorker, Plan, WorkerFact, WorkerRef};
use crate::store::{EndedRun, FailurePolicy, RunningTask, Silence};

/// How old a sign of life may be.
const HEARTBEAT_SECONDS: i64 = 3600;
/// No two clocks that anybody minds differ by as much.
const DAY: i64 = 24 * 3600;
/// From how many equal crashes on the cards are not to blame.
const SYSTEMIC: usize = 3;

/// What is left of the cards in progress.
pub(super) struct Swept<'a> {
    /// Those that are ready now.
    pub(super) freed: Vec<Waiting<'a>>,
    /// Those that are still being worked on.
    pub(super) running: Vec<&'a RunningTask>,
}

/// Looks at every card in progress.
pub(super) fn sweep<'a>(situation: Situation<'a>, plan: &mut Plan) -> Swept<'a> {
    let mut sweep = Sweep {
        situation,
        plan,
        freed: Vec::new(),
        running: situation
            .board
            .running
            .iter()
            .map(Card::new(situation))
            .collect(),
    };
    let unrecorded = sweep.adopt();
    sweep.each(Sweep::claim_ran_out);
    if situation.limits.stale_timeout_seconds > 0 {
        sweep.each(Sweep::fell_silent);
    }
    let systemic = sweep.systemic_exits();
    sweep.each(|sweep, card| sweep.ended(card, &systemic));
    sweep.each(Sweep::took_too_long);
    sweep.prolong();
    Swept {
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
    situation: Situation<'a>,
    plan: &'p mut Plan,
    freed: Vec<Waiting<'a>>,
    running: Vec<Card<'a>>,
}

/// A card in progress with what is known of its worker.
struct Card<'a> {
    task: &'a RunningTask,
    fact: WorkerFact,
    /// Seconds since the attempt began; `None` if no clock tells.
    age: Option<i64>,
}

/// What a look decided about a card.
enum Look {
    Stays,
    /// It is ready again.
    Freed {
        /// How the attempt ended.
        outcome: Outcome,
        /// Failures in a row.
        failures: i64,
    },
    Blocked,
}

impl<'a> Card<'a> {
    fn new(situation: Situation<'a>) -> impl Fn(&'a RunningTask) -> Self {
        move |task| {
            let fact = situation.facts.worker(&task.card.id);
            let age = match fact {
                // The machine's own count since it started cannot be set wrong.
                WorkerFact::Alive {
                    age_seconds: Some(age),
                } => Some(age),
                _ => task
                    .started_at
                    .and_then(|started| since(situation.now, started)),
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

    fn end(&self) -> EndWorker {
        match self.fact {
            WorkerFact::Elsewhere | WorkerFact::NotStarted | WorkerFact::Abandoned => {
                EndWorker::OutOfReach
            }
            WorkerFact::Gone { .. } | WorkerFact::LostInRestart => EndWorker::Gone(self.worker()),
            WorkerFact::Alive { .. }
            | WorkerFact::Unrecorded { .. }
            | WorkerFact::Survivors { .. } => EndWorker::Needed(self.worker()),
        }
    }

    /// How its worker ended, if it did.
    fn exit(&self) -> Option<WorkerExit> {
        match self.fact {
            WorkerFact::Survivors { exit } | WorkerFact::Gone { exit } => Some(exit),
            WorkerFact::LostInRestart => Some(WorkerExit::Unknown),
            WorkerFact::Elsewhere
            | WorkerFact::NotStarted
            | WorkerFact::Abandoned
            | WorkerFact::Alive { .. }
            | WorkerFact::Unrecorded { .. } => None,
        }
    }

    /// Whether how it ended is known, or why that is not: then that is told, and not that its claim
    /// ran out or that it was silent.
    fn has_an_end_to_tell(&self) -> bool {
        match self.fact {
            WorkerFact::Survivors { .. } | WorkerFact::LostInRestart => true,
            WorkerFact::Gone { exit } => exit != WorkerExit::Unknown,
            WorkerFact::Elsewhere
            | WorkerFact::NotStarted
            | WorkerFact::Abandoned
            | WorkerFact::Alive { .. }
            | WorkerFact::Unrecorded { .. } => false,
        }
    }

    /// Whether its last sign of life is too long ago; none at all is not.
    fn is_heard_of_late(&self, now: i64) -> bool {
        let silent_for = self
            .task
            .last_heartbeat_at
            .and_then(|beat| since(now, beat));
        silent_for.is_some_and(|silent| silent > HEARTBEAT_SECONDS)
    }

    /// Whether the attempt began in the future: then it was claimed before a clock was set back, and
    /// the end of its claim means nothing. The clock of another machine may just be ahead of ours.
    fn is_from_a_wrong_clock(&self, now: i64) -> bool {
        self.task.started_at.is_some_and(|started| {
            let certain = self.fact != WorkerFact::Elsewhere || started.saturating_sub(now) > DAY;
            certain && since(now, started).is_none()
        })
    }

    /// It is ready again, and that its attempt ended is no failure.
    fn freed(&self, outcome: Outcome) -> Look {
        Look::Freed {
            outcome,
            failures: self.task.card.consecutive_failures,
        }
    }
}

impl<'a> Sweep<'a, '_> {
    /// Records workers that nobody recorded. The next look judges them like any other.
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

    /// Takes one look at every card that is still in progress.
    fn each(&mut self, look: impl Fn(&mut Self, &Card<'a>) -> Look) {
        for card in std::mem::take(&mut self.running) {
            match look(self, &card) {
                Look::Stays => self.running.push(card),
                Look::Freed { outcome, failures } => self.free(card.task, outcome, failures),
                Look::Blocked => self
                    .plan
                    .report
                    .auto_blocked
                    .push(card.task.card.id.clone()),
            }
        }
    }

    fn free(&mut self, task: &'a RunningTask, outcome: Outcome, failures: i64) {
        let now = self.situation.now;
        let mut guard = task.card.guard.clone();
        guard.last_run = Some(EndedRun {
            outcome: Some(outcome),
            ended_at: now,
        });
        match outcome {
            // Taking a claim back is recorded as asking for the card again.
            Outcome::Reclaimed => guard.requeued_at = Some(now),
            // What is recorded about these ends is ours and never about permission.
            Outcome::Crashed | Outcome::TimedOut => guard.last_failure_error = None,
            _ => {}
        }
        self.freed.push(Waiting {
            card: &task.card,
            guard: Cow::Owned(guard),
            failures,
        });
    }

    fn claim_ran_out(&mut self, card: &Card<'a>) -> Look {
        let now = self.situation.now;
        let task = card.task;
        let lives_on = matches!(card.fact, WorkerFact::Alive { .. }) && !card.is_heard_of_late(now);
        if lives_on || card.has_an_end_to_tell() || !self.has_run_out(card) {
            return Look::Stays;
        }
        self.plan.report.reclaimed.push(task.card.id.clone());
        self.plan.actions.push(Action::Reclaim {
            task: task.card.id.clone(),
            seen: task.claim.clone(),
            heartbeat_stale: card.is_heard_of_late(now),
            end: card.end(),
        });
        card.freed(Outcome::Reclaimed)
    }

    fn has_run_out(&self, card: &Card<'a>) -> bool {
        let Situation { limits, now, .. } = self.situation;
        if card.fact == WorkerFact::Abandoned {
            return true;
        }
        match card.task.claim.expires {
            Some(expires) => expires < now || card.is_from_a_wrong_clock(now),
            // Nobody claims without an end and starts no worker: there is nothing to wait for.
            None if card.task.claim.pid.is_none() => true,
            None => card.age.is_none_or(|age| age >= limits.claim_ttl_seconds),
        }
    }

    /// Prolongs the claims of workers that may go on. Last, because what is done to a claim holds
    /// only as long as nothing else changes it.
    fn prolong(&mut self) {
        let Situation { limits, now, .. } = self.situation;
        for card in &self.running {
            if matches!(card.fact, WorkerFact::Alive { .. }) && self.has_run_out(card) {
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

    fn fell_silent(&mut self, card: &Card<'a>) -> Look {
        let Situation { limits, now, .. } = self.situation;
        let timeout_seconds = limits.stale_timeout_seconds;
        let task = card.task;
        let Some(elapsed_seconds) = card.age.filter(|age| *age >= timeout_seconds) else {
            return Look::Stays;
        };
        let heartbeat_age_seconds = task.last_heartbeat_at.and_then(|beat| since(now, beat));
        let gave_a_sign = heartbeat_age_seconds.is_some_and(|age| age <= HEARTBEAT_SECONDS);
        // On another machine it cannot be ended: there the claim has to run out first.
        let is_ours = card.fact != WorkerFact::Elsewhere;
        if gave_a_sign || !is_ours || card.has_an_end_to_tell() {
            return Look::Stays;
        }
        self.plan.report.stale.push(task.card.id.clone());
        self.plan.actions.push(Action::ReclaimSilent {
            task: task.card.id.clone(),
            seen: task.claim.clone(),
            silence: Silence {
                elapsed_seconds,
                last_heartbeat_at: task.last_heartbeat_at,
                heartbeat_age_seconds,
                timeout_seconds,
            },
            end: card.end(),
        });
        card.freed(Outcome::Stale)
    }

    fn is_past_grace(&self, card: &Card<'a>) -> bool {
        card.age
            .is_none_or(|age| age >= self.situation.limits.crash_grace_seconds)
    }

    /// Ways of ending that so many workers share that the cards are not to blame. That the machine
    /// was started anew explains itself and is not counted.
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

    fn ended(&mut self, card: &Card<'a>, systemic: &[WorkerExit]) -> Look {
        let task = card.task;
        let Some(exit) = card.exit() else {
            return Look::Stays;
        };
        if !self.is_past_grace(card) {
            return Look::Stays;
        }
        let restarted = card.fact == WorkerFact::LostInRestart;
        let policy = FailurePolicy {
            limit: self.situation.limits.failure_limit,
            systemic: !restarted && systemic.contains(&exit),
        };
        let id = task.card.id.clone();
        self.plan.actions.push(Action::RecordExit {
            task: id.clone(),
            seen: task.claim.clone(),
            exit,
            policy,
            end: card.end(),
        });
        match exit {
            WorkerExit::Code(WorkerExit::QUOTA_WALL) => {
                self.plan.report.rate_limited.push(id);
                card.freed(Outcome::RateLimited)
            }
            WorkerExit::Code(0) => {
                self.plan.report.crashed.push(id);
                let limit = task
                    .card
                    .max_retries
                    .unwrap_or(FailurePolicy::VIOLATION_LIMIT);
                if task.violation_streak + 1 >= limit {
                    Look::Blocked
                } else {
                    card.freed(Outcome::Crashed)
                }
            }
            WorkerExit::Code(_) | WorkerExit::Signal(_) | WorkerExit::Unknown => {
                self.plan.report.crashed.push(id);
                failed(task, policy, Outcome::Crashed)
            }
        }
    }

    fn took_too_long(&mut self, card: &Card<'a>) -> Look {
        let task = card.task;
        let limit = task.max_runtime_seconds.filter(|limit| *limit > 0);
        let (Some(limit_seconds), Some(elapsed_seconds)) = (limit, card.age) else {
            return Look::Stays;
        };
        let lives_here = matches!(card.fact, WorkerFact::Alive { .. });
        if !lives_here || elapsed_seconds < limit_seconds {
            return Look::Stays;
        }
        let policy = FailurePolicy::with_limit(self.situation.limits.failure_limit);
        self.plan.report.timed_out.push(task.card.id.clone());
        self.plan.actions.push(Action::TimeOut {
            task: task.card.id.clone(),
            seen: task.claim.clone(),
            elapsed_seconds,
            limit_seconds,
            policy,
            end: card.end(),
        });
        failed(task, policy, Outcome::TimedOut)
    }
}

/// What one more failure does to a card.
fn failed(task: &RunningTask, policy: FailurePolicy, outcome: Outcome) -> Look {
    let limit = match task.card.max_retries {
        Some(own) => own,
        None if policy.systemic => 1,
        None => policy.limit,
    };
    let failures = task.card.consecutive_failures + 1;
    if failures >= limit {
        Look::Blocked
    } else {
        Look::Freed { outcome, failures }
    }
}
