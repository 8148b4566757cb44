//! One tick: what is due is claimed on disk, and only then handed out to be run.
//!
//! The order makes every kill harmless: the ledger knows of a claim before the jobs file does, the
//! jobs file before anything is run. A claim that was never begun is given back.

use std::collections::BTreeSet;
use std::time::Duration;

use hermes_fs::{FileLock, LockOptions};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::error::{Error, Result};
use crate::home::CronHome;
use crate::job::{Job, JobState};
use crate::jobs_file::{JobList, change};
use crate::ledger::{Abandoned, Ledger, NewExecution};
use crate::plan::{Absence, Action, Facts, MissReason, Rules, Step, next_due, plan};
use crate::process::end_leftovers;
use crate::stamp::written;

/// A run that is ours.
#[derive(Debug, Clone)]
pub struct ClaimedRun {
    /// The attempt in the ledger.
    pub execution: String,
    /// The job as it was when it was claimed.
    pub job: Job,
    pub(crate) slot: Timestamp,
}

/// What a tick found.
#[derive(Debug, Default)]
pub struct TickOutcome {
    /// To be run now.
    pub runs: Vec<ClaimedRun>,
    /// Jobs whose only run will not happen; their targets are to be told.
    pub given_up: Vec<(Job, String)>,
    /// Attempts whose owner has died while they ran.
    leftovers: Vec<String>,
    /// Runs recorded as missed.
    pub missed: u64,
    /// When to look again.
    pub next_due: Option<Timestamp>,
    /// Whether somebody else is at it.
    pub skipped_locked: bool,
}

impl TickOutcome {
    /// Ends what interrupted runs have left.
    pub fn end_leftovers(&self) {
        for execution in &self.leftovers {
            end_leftovers(execution);
        }
    }
}

/// Limits and facts of a tick.
#[derive(Debug)]
pub(crate) struct TickRequest<'a> {
    pub(crate) now: Timestamp,
    pub(crate) rules: &'a Rules,
    pub(crate) free: usize,
    pub(crate) absence: Absence,
}

/// Claims what is due.
pub(crate) fn claim(
    home: &CronHome,
    ledger: &Ledger,
    request: &TickRequest<'_>,
) -> Result<TickOutcome> {
    let Some(_tick) = tick_lock(home)? else {
        return Ok(TickOutcome {
            skipped_locked: true,
            ..TickOutcome::default()
        });
    };
    let TickRequest { now, rules, .. } = *request;
    change(home, now, &rules.zone, |list| {
        let (running, abandoned) = ledger.under_way()?;
        let mut outcome = TickOutcome::default();
        for attempt in &abandoned {
            if attempt.was_running {
                outcome.leftovers.push(attempt.execution.clone());
            }
            outcome.given_up.extend(recover(list, attempt, now, rules));
        }
        let facts = Facts {
            now,
            running: &running,
            free: request.free.saturating_sub(running.len()),
            absence: request.absence,
        };
        let actions = plan(&list.jobs, &facts, rules);
        record(ledger, list, &actions, now, &mut outcome)?;
        for attempt in &abandoned {
            ledger.abandon(attempt, now)?;
        }
        for action in actions {
            apply(list, action, now, rules, &mut outcome);
        }
        outcome.next_due = next_due(&list.jobs);
        Ok(outcome)
    })
}

/// Claims what is due now, for a tick by hand.
pub fn claim_due(
    home: &CronHome,
    ledger: &Ledger,
    settings: &crate::CronSettings,
    now: Timestamp,
) -> Result<TickOutcome> {
    claim(
        home,
        ledger,
        &TickRequest {
            now,
            rules: &settings.rules(),
            free: settings.max_parallel,
            absence: Absence::NoScheduler,
        },
    )
}

/// Claims a run that nobody waited for.
pub fn claim_now(
    home: &CronHome,
    ledger: &Ledger,
    settings: &crate::CronSettings,
    id: &str,
    now: Timestamp,
) -> Result<ClaimedRun> {
    let rules = &settings.rules();
    change(home, now, &rules.zone, |list| {
        let (running, abandoned) = ledger.under_way()?;
        if running.contains(id) {
            return Err(Error::AlreadyRunning(id.to_owned()));
        }
        for attempt in abandoned.iter().filter(|attempt| attempt.job == id) {
            ledger.abandon(attempt, now)?;
        }
        let job = list.get_mut(id);
        let job = job.ok_or_else(|| Error::NoSuchJob(id.to_owned()))?;
        let execution = hermes_fs::random_hex(32);
        let claim = NewExecution {
            id: &execution,
            job: id,
            source: "direct",
            slot: now,
        };
        ledger.record(&[claim], &[], now)?;
        let schedule = job.schedule();
        let is_once = matches!(schedule, Ok(hermes_time::Schedule::Once(_)));
        if is_once {
            claim_once(job, now, rules);
        } else {
            job.set("fire_claim", own_claim(now, rules));
            let is_due = job.next_run_at().is_some_and(|next| next <= now);
            if let (true, Ok(schedule)) = (is_due, schedule) {
                let next = schedule.next_after(now, &rules.zone);
                job.set_stamp("next_run_at", next, &rules.zone);
            }
        }
        Ok(ClaimedRun {
            execution,
            job: job.clone(),
            slot: now,
        })
    })
}

/// The lock of a tick; `None` if somebody else has it.
fn tick_lock(home: &CronHome) -> Result<Option<FileLock>> {
    home.ensure()?;
    let options = LockOptions {
        what: "the scheduler's tick",
        timeout: Duration::ZERO,
    };
    match FileLock::acquire(&home.tick_lock(), &options) {
        Ok(lock) => Ok(Some(lock)),
        Err(hermes_fs::Error::LockTimeout { .. }) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Puts claims and missed runs into the ledger.
fn record(
    ledger: &Ledger,
    list: &JobList,
    actions: &[Action],
    now: Timestamp,
    outcome: &mut TickOutcome,
) -> Result<()> {
    let mut missed = Vec::new();
    let mut claims = Vec::new();
    for action in actions {
        let (run, skipped) = match &action.step {
            Step::Run { slot, missed, .. } => (Some(*slot), missed.as_ref()),
            Step::Skip { missed, .. } | Step::GiveUp { missed } => (None, Some(missed)),
            Step::Reschedule { .. } | Step::Fail { .. } => (None, None),
        };
        if let (Some(slot), Some(job)) = (run, list.get(&action.id)) {
            outcome.runs.push(ClaimedRun {
                execution: hermes_fs::random_hex(32),
                job: job.clone(),
                slot,
            });
        }
        if let Some(skipped) = skipped {
            let name = list.get(&action.id).map(Job::name).unwrap_or_default();
            missed.push((action.id.as_str(), name, skipped));
            outcome.missed += skipped.count;
        }
    }
    for run in &outcome.runs {
        claims.push(NewExecution {
            id: &run.execution,
            job: run.job.id(),
            source: "builtin",
            slot: run.slot,
        });
    }
    let missed: Vec<(&str, &str, _)> = missed
        .iter()
        .map(|(id, name, missed)| (*id, name.as_str(), *missed))
        .collect();
    ledger.record(&claims, &missed, now)
}

/// Changes the list as the plan says.
fn apply(
    list: &mut JobList,
    action: Action,
    now: Timestamp,
    rules: &Rules,
    outcome: &mut TickOutcome,
) {
    let Some(job) = list.get_mut(&action.id) else {
        return;
    };
    match action.step {
        Step::Run { slot, next, missed } => {
            let is_once = next.is_none() && matches!(job.schedule(), Ok(s) if !s.is_recurring());
            if is_once {
                claim_once(job, now, rules);
            } else {
                job.set_stamp("next_run_at", next, &rules.zone);
                job.set_stamp("last_slot_at", Some(slot), &rules.zone);
            }
            if let Some(missed) = missed {
                note_missed(job, &missed, rules);
            }
            if let Some(run) = outcome
                .runs
                .iter_mut()
                .find(|run| run.job.id() == action.id)
            {
                run.job = job.clone();
            }
        }
        Step::Skip { missed, next } => {
            job.set_stamp("next_run_at", next, &rules.zone);
            job.set_stamp("last_slot_at", Some(missed.last), &rules.zone);
            note_missed(job, &missed, rules);
        }
        Step::Reschedule { next } => {
            job.set_stamp("next_run_at", Some(next), &rules.zone);
            if job.state() == JobState::Error.name() {
                job.set_state(JobState::Scheduled);
            }
        }
        Step::GiveUp { missed } => {
            let (state, error) = match missed.reason {
                MissReason::Interrupted => (JobState::Error, INTERRUPTED.to_owned()),
                reason => (
                    JobState::Missed,
                    format!(
                        "not run at {}: {}",
                        written(missed.first, &rules.zone),
                        reason.text()
                    ),
                ),
            };
            give_up(job, state, &error);
            outcome.given_up.push((job.clone(), error));
        }
        Step::Fail { reason } => {
            job.set_state(JobState::Error);
            job.set("last_error", reason);
        }
    }
}

const INTERRUPTED: &str = "whoever ran it ended before it did; whether it had an effect is unknown, \
                           so it is not run again";

/// Puts right what a process left that died between claim and result.
fn recover(
    list: &mut JobList,
    attempt: &Abandoned,
    now: Timestamp,
    rules: &Rules,
) -> Option<(Job, String)> {
    let job = list.get_mut(&attempt.job)?;
    let is_once = matches!(job.schedule(), Ok(schedule) if !schedule.is_recurring());
    job.set("fire_claim", Value::Null);
    if !attempt.was_running {
        // Nothing has happened yet, so it is due again.
        if is_once {
            if job.run_claim().is_some() {
                job.set("run_claim", Value::Null);
                job.count_run(-1);
            }
        } else if let Some(slot) = attempt.slot
            && job.next_run_at().is_some_and(|next| next > slot)
        {
            job.set_stamp("next_run_at", Some(slot), &rules.zone);
        }
        return None;
    }
    job.set_stamp("last_run_at", Some(now), &rules.zone);
    job.set("last_status", "error");
    job.set("last_error", INTERRUPTED);
    job.set("run_claim", Value::Null);
    if is_once {
        give_up(job, JobState::Error, INTERRUPTED);
    } else {
        job.count_run(1);
    }
    Some((job.clone(), INTERRUPTED.to_owned()))
}

fn give_up(job: &mut Job, state: JobState, error: &str) {
    job.set_state(state);
    job.set("enabled", false);
    job.set("next_run_at", Value::Null);
    job.set("run_claim", Value::Null);
    job.set("last_error", error);
}

/// Marks a single run as begun, so that nobody begins it again.
fn claim_once(job: &mut Job, now: Timestamp, rules: &Rules) {
    job.set("run_claim", own_claim(now, rules));
    job.count_run(1);
}

fn note_missed(job: &mut Job, missed: &crate::plan::Missed, rules: &Rules) {
    job.set(
        "last_missed",
        json!({
            "at": written(missed.last, &rules.zone),
            "count": missed.count,
            "reason": missed.reason.text(),
        }),
    );
}

/// Who claims, as the reference writes it.
fn own_claim(now: Timestamp, rules: &Rules) -> Value {
    json!({"at": written(now, &rules.zone), "by": own_name()})
}

pub(crate) fn own_name() -> String {
    let host = rustix::system::uname();
    let host = host.nodename().to_string_lossy().into_owned();
    format!("{host}:{}", std::process::id())
}

/// Renews the claims of single runs that are ours and still going on.
pub(crate) fn renew_claims(
    home: &CronHome,
    running: &BTreeSet<String>,
    now: Timestamp,
    rules: &Rules,
) -> Result<()> {
    let own = own_name();
    change(home, now, &rules.zone, |list| {
        for job in &mut list.jobs {
            let is_ours = job.run_claim().is_some_and(|claim| claim.by == own);
            if is_ours && running.contains(job.id()) {
                job.set("run_claim", own_claim(now, rules));
            }
        }
        Ok(())
    })
}
