//! What is due: a pure function from jobs, the time and what is running to actions.
//!
//! Of several runs that have become due since the last look, at most one is made up for; the others
//! are missed, each with a reason. A job is never due for a time that was dealt with before, also
//! when the clock goes back.

use std::collections::BTreeSet;

use hermes_time::Schedule;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::job::Job;
use crate::stamp::age;

/// Bounds of the time within which a late run is not a missed one.
const LEAST_GRACE: SignedDuration = SignedDuration::from_secs(120);
const MOST_GRACE: SignedDuration = SignedDuration::from_hours(2);
/// A clock that goes back by more was wrong before; by less, what has run must not run again.
const WRONG_CLOCK: SignedDuration = SignedDuration::from_hours(24);
/// Missed runs are counted up to this many.
const MOST_COUNTED: u64 = 100_000;

/// What is configured about due jobs.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Rules {
    pub(crate) zone: TimeZone,
    /// Whether a run that was missed is made up for.
    pub(crate) catches_up: bool,
    /// How late a single run may be.
    pub(crate) once_max_late: SignedDuration,
    /// After this time a claim that nobody renews is void.
    pub(crate) claim_ttl: SignedDuration,
}

/// Why nobody looked at the jobs for a while.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Absence {
    NoScheduler,
    Asleep,
    ClockSet,
}

/// What is known about the machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts<'a> {
    pub(crate) now: Timestamp,
    /// Jobs that run now, whoever started them.
    pub(crate) running: &'a BTreeSet<String>,
    /// How many more may run.
    pub(crate) free: usize,
    pub(crate) absence: Absence,
}

/// Why a run did not happen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MissReason {
    Absent(Absence),
    StillRunning,
    TooLate,
    Interrupted,
}

impl MissReason {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Absent(Absence::NoScheduler) => "no scheduler was running",
            Self::Absent(Absence::Asleep) => "the machine was asleep",
            Self::Absent(Absence::ClockSet) => "the clock was set forward",
            Self::StillRunning => "the run before was still going on",
            Self::TooLate => "it was later than cron.oneshot_max_late_hours allows",
            Self::Interrupted => "whoever started it ended before it did",
        }
    }
}

/// Runs that were due and did not happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Missed {
    pub(crate) first: Timestamp,
    pub(crate) last: Timestamp,
    pub(crate) count: u64,
    pub(crate) reason: MissReason,
}

/// What is to be done about one job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Action {
    pub(crate) id: String,
    pub(crate) step: Step,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Step {
    /// Run it for this time.
    Run {
        slot: Timestamp,
        next: Option<Timestamp>,
        missed: Option<Missed>,
    },
    /// Record what was missed, and wait.
    Skip {
        missed: Missed,
        next: Option<Timestamp>,
    },
    /// Nothing was due; the time of the next run was absent or wrong.
    Reschedule { next: Timestamp },
    /// The only run will not happen any more.
    GiveUp { missed: Missed },
    /// Nobody can tell when it runs.
    Fail { reason: String },
}

/// What is to be done now, in the order in which runs were due.
pub(crate) fn plan(jobs: &[Job], facts: &Facts<'_>, rules: &Rules) -> Vec<Action> {
    let mut actions: Vec<Action> = jobs
        .iter()
        .filter_map(|job| {
            Some(Action {
                id: job.id().to_owned(),
                step: step(job, facts, rules)?,
            })
        })
        .collect();
    actions.sort_by_key(|action| match &action.step {
        Step::Run { slot, .. } => *slot,
        _ => Timestamp::MIN,
    });
    // A run that finds no room stays due.
    let mut free = facts.free;
    actions.retain(|action| match action.step {
        Step::Run { .. } if free == 0 => false,
        Step::Run { .. } => {
            free -= 1;
            true
        }
        _ => true,
    });
    actions
}

/// When the next job is due, as far as is known.
pub(crate) fn next_due(jobs: &[Job]) -> Option<Timestamp> {
    let waiting = jobs.iter().filter(|job| may_run(job));
    waiting.filter_map(Job::next_run_at).min()
}

fn may_run(job: &Job) -> bool {
    job.is_enabled() && !matches!(job.state(), "paused" | "completed" | "missed")
}

fn step(job: &Job, facts: &Facts<'_>, rules: &Rules) -> Option<Step> {
    if !may_run(job) {
        return None;
    }
    match job.schedule() {
        Ok(Schedule::Once(at)) => once(job, at, facts, rules),
        Ok(schedule) => recurring(job, &schedule, facts, rules),
        // Said once, not at every look.
        Err(_) if job.state() == "error" => None,
        Err(reason) => Some(Step::Fail { reason }),
    }
}

fn once(job: &Job, at: Timestamp, facts: &Facts<'_>, rules: &Rules) -> Option<Step> {
    let now = facts.now;
    let slot = match job.next_run_at() {
        Some(slot) => slot,
        None if job.stamp("last_run_at").is_none() => at,
        None => return None,
    };
    if facts.running.contains(job.id()) {
        return None;
    }
    let give_up = |reason| Step::GiveUp {
        missed: Missed {
            first: slot,
            last: slot,
            count: 1,
            reason,
        },
    };
    if let Some(claim) = job.run_claim() {
        if age(claim.at, now).is_some_and(|age| age < rules.claim_ttl) {
            return None;
        }
        let (times, completed) = job.repeat();
        if times.is_some_and(|times| completed >= times) {
            return Some(give_up(MissReason::Interrupted));
        }
    }
    if slot > now {
        return match job.next_run_at() {
            Some(_) => None,
            None => Some(Step::Reschedule { next: slot }),
        };
    }
    if now.duration_since(slot) > rules.once_max_late {
        return Some(give_up(MissReason::TooLate));
    }
    Some(Step::Run {
        slot,
        next: None,
        missed: None,
    })
}

fn recurring(job: &Job, schedule: &Schedule, facts: &Facts<'_>, rules: &Rules) -> Option<Step> {
    let (now, zone) = (facts.now, &rules.zone);
    let natural = schedule.next_after(now, zone);
    let reschedule = || natural.map(|next| Step::Reschedule { next });
    let Some(slot) = job.next_run_at() else {
        return match natural {
            Some(next) => Some(Step::Reschedule { next }),
            None if job.state() == "error" => None,
            None => Some(Step::Fail {
                reason: "its next run cannot be told".to_owned(),
            }),
        };
    };
    if slot > now {
        return is_out_of_place(job, schedule, slot, natural, now)
            .then(reschedule)
            .flatten();
    }
    if was_written_elsewhere(job, schedule, now, zone) {
        return reschedule();
    }
    let (last, count) = last_due(schedule, slot, now, zone);
    let missed = |last: Timestamp, count: u64, reason| Missed {
        first: slot,
        last,
        count,
        reason,
    };
    // What runs at intervals keeps its pace.
    let following = match schedule {
        Schedule::Interval(_) => schedule.next_after(last, zone),
        _ => natural,
    };
    if facts.running.contains(job.id()) {
        return Some(Step::Skip {
            missed: missed(last, count, MissReason::StillRunning),
            next: following,
        });
    }
    let late = now.duration_since(last);
    let grace = grace(schedule, now, zone);
    if late > grace && !rules.catches_up {
        return Some(Step::Skip {
            missed: missed(last, count, MissReason::Absent(facts.absence)),
            next: following,
        });
    }
    let before = (count > 1).then(|| {
        let before = previous(schedule, slot, last, zone);
        missed(before, count - 1, MissReason::Absent(facts.absence))
    });
    Some(Step::Run {
        slot: last,
        // One that is made up for after an absence begins anew.
        next: if late <= grace { following } else { natural },
        missed: before,
    })
}

/// Whether the time of the next run makes no sense any more: the clock went back by a lot, the
/// interval became shorter, or the zone changed.
fn is_out_of_place(
    job: &Job,
    schedule: &Schedule,
    slot: Timestamp,
    natural: Option<Timestamp>,
    now: Timestamp,
) -> bool {
    if natural.is_none_or(|natural| slot <= natural) {
        return false;
    }
    let handled = handled_until(job).filter(|handled| *handled > now);
    match (schedule, handled) {
        (Schedule::Interval(_), _) | (_, None) => true,
        (_, Some(handled)) => handled.duration_since(now) > WRONG_CLOCK,
    }
}

/// The last time that was dealt with, by a run or as missed, by whichever program.
fn handled_until(job: &Job) -> Option<Timestamp> {
    let keys = ["last_run_at", "last_slot_at"];
    keys.iter()
        .filter_map(|key| job.stamp(key))
        .map(|s| s.at)
        .max()
}

/// Whether the time was written by a clock of another zone, by which it is yet to come: the schedule
/// means local times, so the moment moves with the zone.
fn was_written_elsewhere(job: &Job, schedule: &Schedule, now: Timestamp, zone: &TimeZone) -> bool {
    let Some((local, offset)) = job.stamp("next_run_at").and_then(|stamp| stamp.local) else {
        return false;
    };
    let here = |at: Timestamp| zone.to_offset(at);
    let at = offset.to_timestamp(local).ok();
    matches!(schedule, Schedule::Cron(_))
        && at.is_some_and(|at| here(at) != offset)
        && local > here(now).to_datetime(now)
}

/// The last run that is due, and how many are from the first.
fn last_due(
    schedule: &Schedule,
    first: Timestamp,
    now: Timestamp,
    zone: &TimeZone,
) -> (Timestamp, u64) {
    let (mut last, mut count) = (first, 1);
    if let Schedule::Interval(minutes) = schedule {
        let period = i64::from(*minutes) * 60;
        let periods = now.duration_since(first).as_secs() / period;
        let last = first.checked_add(SignedDuration::from_secs(periods.saturating_mul(period)));
        return (
            last.unwrap_or(first),
            u64::try_from(periods).unwrap_or(0) + 1,
        );
    }
    while let Some(next) = schedule.next_after(last, zone) {
        if next > now || count >= MOST_COUNTED {
            break;
        }
        (last, count) = (next, count + 1);
    }
    (last, count)
}

/// The run before the last one.
fn previous(schedule: &Schedule, first: Timestamp, last: Timestamp, zone: &TimeZone) -> Timestamp {
    if let Some(period) = schedule.period(first, zone)
        && matches!(schedule, Schedule::Interval(_))
    {
        return last.checked_sub(period).unwrap_or(first);
    }
    let mut before = first;
    while let Some(next) = schedule.next_after(before, zone) {
        if next >= last {
            break;
        }
        before = next;
    }
    before
}

/// Half the period, within bounds.
fn grace(schedule: &Schedule, now: Timestamp, zone: &TimeZone) -> SignedDuration {
    let period = schedule.period(now, zone);
    let half = period.map_or(LEAST_GRACE, |period| {
        SignedDuration::from_secs(period.as_secs() / 2)
    });
    half.clamp(LEAST_GRACE, MOST_GRACE)
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
