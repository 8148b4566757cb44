//! The loop of a scheduler: looks when the jobs or the settings change, when a run ends and when the
//! next job is due; an interval is the fallback, and what tells others that somebody looks.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::AsFd;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use hermes_fs::{FileLock, LockOptions};
use hermes_proc::{FileWatch, Wake};
use jiff::{SignedDuration, Timestamp};

use crate::claim::{ClaimedRun, TickOutcome, TickRequest, claim, renew_claims};
use crate::error::{Error, Result};
use crate::home::CronHome;
use crate::ledger::Ledger;
use crate::plan::Absence;
use crate::runner::{RunReport, Runner};
use crate::setup::RunSetup;

/// Most time between two looks; the reference calls a scheduler stale after 200 s.
const FALLBACK: Duration = Duration::from_mins(1);
/// When a look that failed is tried again: a home that turned read-only may be writable by then.
const RETRY: Duration = Duration::from_secs(5);
/// Many changes at once, and our own, lead to one more look.
const LEAST_PAUSE: Duration = Duration::from_millis(50);
/// How far two clocks may be apart without a reason.
const CLOCK_SLACK: SignedDuration = SignedDuration::from_secs(30);

/// What happens in the loop, for a log or a terminal.
#[derive(Debug)]
pub enum SchedulerEvent<'a> {
    Started(&'a ClaimedRun),
    Ended(&'a ClaimedRun, &'a RunReport),
    /// Runs were recorded as missed.
    Missed(u64),
    /// A look failed; the next one may not.
    Failed(&'a str),
}

/// Runs jobs when they are due, until it is told to stop.
pub struct Scheduler<'a> {
    /// What runs need, read anew before every look.
    pub setup: &'a (dyn Fn() -> RunSetup + Sync),
    pub observe: &'a (dyn Fn(&SchedulerEvent<'_>) + Sync),
}

/// Whether a scheduler of this program serves the home, apart from any gateway.
pub fn scheduler_is_running(home: &CronHome) -> bool {
    FileLock::is_held(&home.scheduler_lock()).unwrap_or(false)
}

/// How long ago a scheduler, ours or the reference's, last looked.
pub fn ticker_age(home: &CronHome) -> Option<Duration> {
    let text = hermes_fs::read_text_capped(&home.heartbeat(), 64).ok()?;
    let then: f64 = text.trim().parse().ok()?;
    let now = Timestamp::now().as_duration().as_secs_f64();
    Duration::try_from_secs_f64((now - then).max(0.0)).ok()
}

impl Scheduler<'_> {
    /// Serves the home until `stop` is raised, and then until the runs have ended; `abort` ends them
    /// early. Only one scheduler serves a home.
    pub fn run(&self, stop: &Wake, abort: &Wake) -> Result<()> {
        let home = (self.setup)().home;
        home.ensure()?;
        let options = LockOptions {
            what: "the scheduler",
            timeout: Duration::ZERO,
        };
        let _lock = match FileLock::acquire(&home.scheduler_lock(), &options) {
            Ok(lock) => lock,
            Err(hermes_fs::Error::LockTimeout { .. }) => return Err(Error::SchedulerRunning),
            Err(error) => return Err(error.into()),
        };
        let ended = Wake::new().map_err(|source| {
            Error::File(hermes_fs::Error::io("watch", &home.jobs_file())(source))
        })?;
        std::thread::scope(|scope| {
            let mut state = Looks {
                runs: BTreeMap::<String, ScopedJoinHandle<'_, ()>>::new(),
                clocks: None,
                last_failure: None,
            };
            let mut watch = FileWatch::default();
            while !stop.is_raised() {
                // In this order: what changes from here on leads to another look.
                watch.watch(watched(&home), BTreeSet::new());
                ended.clear();
                state.runs.retain(|_, handle| !handle.is_finished());
                let begun = Instant::now();
                let setup = (self.setup)();
                let pause = match self.look(&setup, &mut state) {
                    Ok(outcome) => {
                        let pause = outcome.next_due.map_or(FALLBACK, until);
                        for run in outcome.runs {
                            let (setup, ended) = (setup.clone(), &ended);
                            let id = run.job.id().to_owned();
                            let handle =
                                scope.spawn(move || self.run_one(&setup, &run, abort, ended));
                            state.runs.insert(id, handle);
                        }
                        pause.clamp(LEAST_PAUSE, FALLBACK)
                    }
                    Err(error) => {
                        self.report_failure(&mut state, &error);
                        RETRY
                    }
                };
                // A watch that fails leaves the interval.
                drop(watch.wait(&[stop.as_fd(), ended.as_fd()], Some(pause)));
                let rest = LEAST_PAUSE.saturating_sub(begun.elapsed());
                stop.wait(rest);
            }
        });
        Ok(())
    }

    fn look<H>(&self, setup: &RunSetup, state: &mut Looks<H>) -> Result<TickOutcome> {
        let now = Timestamp::now();
        let absence = state.absence(now);
        let home = &setup.home;
        beat(home, &home.heartbeat(), now)?;
        let ledger = Ledger::open(home, &setup.settings.zone)?;
        let rules = setup.settings.rules();
        if !state.runs.is_empty() {
            let running = state.runs.keys().cloned().collect();
            renew_claims(home, &running, now, &rules)?;
        }
        let outcome = claim(
            home,
            &ledger,
            &TickRequest {
                now,
                rules: &rules,
                free: setup.settings.max_parallel,
                absence,
            },
        )?;
        let runner = Runner {
            setup,
            ledger: &ledger,
        };
        outcome.end_leftovers();
        for (job, reason) in &outcome.given_up {
            runner.tell_given_up(job, reason);
        }
        if outcome.missed > 0 {
            (self.observe)(&SchedulerEvent::Missed(outcome.missed));
        }
        beat(home, &home.last_success(), now)?;
        if state.last_failure.take().is_some() {
            tracing::info!("the scheduler can look at the jobs again");
        }
        Ok(outcome)
    }

    fn run_one(&self, setup: &RunSetup, run: &ClaimedRun, abort: &Wake, ended: &Wake) {
        (self.observe)(&SchedulerEvent::Started(run));
        let done = Ledger::open(&setup.home, &setup.settings.zone).and_then(|ledger| {
            let runner = Runner {
                setup,
                ledger: &ledger,
            };
            runner.run(run, abort)
        });
        match done {
            Ok(Some(report)) => (self.observe)(&SchedulerEvent::Ended(run, &report)),
            Ok(None) => {}
            Err(error) => {
                tracing::error!(job = run.job.id(), "a run could not be recorded: {error}");
                (self.observe)(&SchedulerEvent::Failed(&error.to_string()));
            }
        }
        ended.raise();
    }

    /// The same failure is reported once.
    fn report_failure<H>(&self, state: &mut Looks<H>, error: &Error) {
        let text = error.to_string();
        if state.last_failure.as_ref() != Some(&text) {
            tracing::error!("the scheduler cannot look at the jobs: {text}");
            (self.observe)(&SchedulerEvent::Failed(&text));
            state.last_failure = Some(text);
        }
    }
}

/// What the loop remembers between two looks.
struct Looks<H> {
    runs: BTreeMap<String, H>,
    clocks: Option<Clocks>,
    last_failure: Option<String>,
}

impl<H> Looks<H> {
    /// Why nobody looked since the last time.
    fn absence(&mut self, now: Timestamp) -> Absence {
        let current = Clocks::read(now);
        let Some(before) = self.clocks.replace(current) else {
            return Absence::NoScheduler;
        };
        current.absence_since(&before)
    }
}

/// The time by three clocks: one that is set, one that stops while the machine sleeps, and one that
/// does neither.
#[derive(Debug, Clone, Copy)]
struct Clocks {
    wall: Timestamp,
    awake: SignedDuration,
    always: SignedDuration,
}

impl Clocks {
    fn read(now: Timestamp) -> Self {
        let read = |clock| {
            let time = rustix::time::clock_gettime(clock);
            SignedDuration::new(time.tv_sec, i32::try_from(time.tv_nsec).unwrap_or(0))
        };
        let awake = read(rustix::time::ClockId::Monotonic);
        #[cfg(target_os = "linux")]
        let always = read(rustix::time::ClockId::Boottime);
        #[cfg(not(target_os = "linux"))]
        let always = awake;
        Self {
            wall: now,
            awake,
            always,
        }
    }

    fn absence_since(&self, before: &Self) -> Absence {
        let wall = self.wall.duration_since(before.wall);
        let awake = self.awake.saturating_sub(before.awake);
        let always = self.always.saturating_sub(before.always);
        if always.saturating_sub(awake) > CLOCK_SLACK {
            Absence::Asleep
        } else if wall.saturating_sub(always) > CLOCK_SLACK {
            Absence::ClockSet
        } else {
            Absence::NoScheduler
        }
    }
}

fn watched(home: &CronHome) -> BTreeSet<std::path::PathBuf> {
    let profile = home.profile_home();
    let files = [
        home.jobs_file(),
        profile.join("config.yaml"),
        profile.join(".env"),
    ];
    files.into_iter().collect()
}

/// Writes the time, as the reference does.
fn beat(home: &CronHome, path: &std::path::Path, now: Timestamp) -> Result<()> {
    home.ensure()?;
    let seconds = now.as_duration().as_secs_f64();
    Ok(hermes_fs::write_atomic_exact(
        path,
        format!("{seconds:.6}").as_bytes(),
        0o600,
    )?)
}

fn until(due: Timestamp) -> Duration {
    let left = due.duration_since(Timestamp::now());
    Duration::try_from(left).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_gap_has_a_reason() {
        let clocks = |wall: i64, awake: i64, always: i64| Clocks {
            wall: Timestamp::from_second(wall).unwrap(),
            awake: SignedDuration::from_secs(awake),
            always: SignedDuration::from_secs(always),
        };
        let before = clocks(1000, 10, 10);
        assert_eq!(
            clocks(1060, 70, 70).absence_since(&before),
            Absence::NoScheduler
        );
        assert_eq!(
            clocks(9000, 12, 8010).absence_since(&before),
            Absence::Asleep
        );
        assert_eq!(
            clocks(9000, 12, 12).absence_since(&before),
            Absence::ClockSet
        );
    }
}
