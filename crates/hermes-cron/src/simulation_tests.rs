//! A month of schedules in simulated time, on the real files: clocks that are set, changes to and
//! from summer time, restarts, a machine that sleeps, and a scheduler that dies at any step of a run.
//!
//! Every time that became due must be there exactly once: as a run, as a run that was interrupted, or
//! as missed with a reason.

use std::collections::BTreeMap;

use hermes_time::Schedule;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{SignedDuration, Timestamp};

use crate::claim::{ClaimedRun, TickRequest, claim};
use crate::create::NewJob;
use crate::home::CronHome;
use crate::job::Job;
use crate::ledger::Ledger;
use crate::plan::{Absence, Rules};
use crate::stamp::Stamp;
use crate::store::{create_job, finish_job, load_jobs};

const DAYS: i64 = 30;
const SCHEDULES: [&str; 7] = [
    "*/15 * * * *",
    "0 9 * * *",
    "30 2 * * *",
    "15 2,14 * * 1-5",
    "0 0 * * 0",
    "every 45m",
    "every 1d",
];

/// Numbers that look random and are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, most: i64) -> i64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        i64::try_from(self.0 >> 33).unwrap() % most
    }
}

struct World {
    _directory: tempfile::TempDir,
    home: CronHome,
    ledger: Ledger,
    rules: Rules,
    now: Timestamp,
    dice: Dice,
    /// Runs that go on, and until when.
    running: Vec<(ClaimedRun, Timestamp)>,
    /// When runs of each job began.
    begun: BTreeMap<String, Vec<(Timestamp, Timestamp)>>,
    kills: usize,
    /// How often the clock was set back.
    set_back: usize,
}

fn directory() -> tempfile::TempDir {
    // Nothing is lost by a crash of the machine here, and waiting for a disk takes minutes.
    tempfile::tempdir_in("/dev/shm").unwrap_or_else(|_| tempfile::tempdir().unwrap())
}

impl World {
    fn new(zone: &str, start: &str, seed: u64) -> Self {
        let zone = hermes_time::named(zone).unwrap();
        let start: DateTime = start.parse().unwrap();
        let now = start.to_zoned(zone.clone()).unwrap().timestamp();
        let directory = directory();
        let home = CronHome::new(directory.path());
        let mut world = Self {
            ledger: Ledger::open(&home, &zone).unwrap(),
            rules: Rules {
                zone,
                catches_up: !seed.is_multiple_of(3),
                once_max_late: SignedDuration::from_hours(24),
                claim_ttl: SignedDuration::from_secs(1800),
            },
            home,
            now,
            dice: Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1),
            running: Vec::new(),
            begun: BTreeMap::new(),
            kills: 0,
            set_back: 0,
            _directory: directory,
        };
        for schedule in SCHEDULES {
            world.create(schedule);
        }
        for _ in 0..12 {
            let minutes = 1 + world.dice.below(DAYS * 1440);
            world.create(&format!("{minutes}m"));
        }
        world
    }

    fn zone(&self) -> &TimeZone {
        &self.rules.zone
    }

    fn create(&mut self, schedule: &str) {
        let new = NewJob {
            schedule: schedule.to_owned(),
            prompt: "x".to_owned(),
            name: Some(schedule.to_owned()),
            ..NewJob::default()
        };
        create_job(&self.home, new, self.now, &self.rules.zone).unwrap();
    }

    fn advance(&mut self, seconds: i64) {
        self.now += SignedDuration::from_secs(seconds);
    }

    /// One look, and what becomes of its runs.
    fn tick(&mut self, absence: Absence) -> Option<Timestamp> {
        self.end_runs();
        let request = TickRequest {
            now: self.now,
            rules: &self.rules,
            free: 8,
            absence,
        };
        let outcome = claim(&self.home, &self.ledger, &request).unwrap();
        assert!(!outcome.skipped_locked);
        for run in outcome.runs {
            let fate = self.dice.below(100);
            if fate == 0 {
                // Killed before anything began: nothing has happened, so it is due again.
                self.ledger.lose_owner(&run.execution);
                self.kills += 1;
                continue;
            }
            assert!(self.ledger.begin(&run.execution, self.now).unwrap());
            let slots = self.begun.entry(run.job.id().to_owned()).or_default();
            slots.push((run.slot, self.now));
            if fate == 1 {
                self.ledger.lose_owner(&run.execution);
                self.kills += 1;
                continue;
            }
            let long = fate < 6;
            let seconds = self.dice.below(if long { 5400 } else { 300 });
            let until = self.now + SignedDuration::from_secs(seconds);
            self.running.push((run, until));
        }
        outcome.next_due
    }

    fn end_runs(&mut self) {
        let now = self.now;
        let (ended, running): (Vec<_>, Vec<_>) =
            self.running.drain(..).partition(|(_, until)| *until <= now);
        self.running = running;
        for (run, _) in ended {
            finish_job(&self.home, run.job.id(), None, None, now, &self.rules.zone).unwrap();
            self.ledger.finish(&run.execution, None, now).unwrap();
        }
    }

    /// The scheduler dies and another one begins.
    fn restart(&mut self) {
        for (run, _) in self.running.drain(..) {
            self.ledger.lose_owner(&run.execution);
            self.kills += 1;
        }
        self.ledger = Ledger::open(&self.home, &self.rules.zone).unwrap();
    }

    fn month(&mut self) {
        let end = self.now + SignedDuration::from_hours(24 * DAYS);
        let mut next = None;
        while self.now < end {
            let mut absence = Absence::NoScheduler;
            match self.dice.below(400) {
                0 => {
                    let hours = self.dice.below(60);
                    self.advance(hours * 3600 + 17);
                    self.restart();
                }
                1 => self.restart(),
                2 => {
                    let minutes = self.dice.below(900);
                    self.advance(minutes * 60);
                    absence = Absence::Asleep;
                }
                3 => {
                    let minutes = self.dice.below(180);
                    self.advance(minutes * 60);
                    absence = Absence::ClockSet;
                }
                4 => {
                    let minutes = self.dice.below(180);
                    self.advance(-minutes * 60);
                    self.set_back += 1;
                }
                _ => {
                    // To the next due time, or the fallback.
                    let due = next.map(|due: Timestamp| due.duration_since(self.now).as_secs());
                    let due = due.filter(|due| *due > 0).unwrap_or(60);
                    self.advance(due.min(1800));
                }
            }
            next = self.tick(absence);
        }
        // What is under way ends.
        self.advance(6000);
        self.end_runs();
        self.tick(Absence::NoScheduler);
    }
}

/// What became of each time of a job.
fn handled(world: &World, id: &str) -> Vec<(Timestamp, Timestamp, u64)> {
    let at = |text: &str| Stamp::parse(text).unwrap().at;
    let mut handled: Vec<(Timestamp, Timestamp, u64)> = world
        .begun
        .get(id)
        .into_iter()
        .flatten()
        .map(|(slot, _)| (*slot, *slot, 1))
        .collect();
    let missed = world.ledger.missed_runs(Some(id), 10_000).unwrap();
    assert!(missed.iter().all(|missed| !missed.reason.is_empty()));
    handled.extend(
        missed
            .iter()
            .map(|missed| (at(&missed.first_due), at(&missed.last_due), missed.count)),
    );
    handled.sort();
    handled
}

#[test]
fn a_month_in_berlin_loses_and_repeats_nothing() {
    simulate("Europe/Berlin", "2026-10-10T12:00");
}

#[test]
fn a_month_in_new_york_loses_and_repeats_nothing() {
    simulate("America/New_York", "2027-02-25T08:00");
}

#[test]
fn a_month_on_lord_howe_island_loses_and_repeats_nothing() {
    simulate("Australia/Lord_Howe", "2026-09-20T20:00");
}

/// Months with these seeds, one of which makes up for nothing.
fn simulate(zone: &str, start: &str) {
    let (mut runs, mut times) = (0, 0);
    for seed in 2..=3 {
        let mut world = World::new(zone, start, seed);
        let created: BTreeMap<String, (String, Timestamp, Schedule)> = load_jobs(&world.home)
            .unwrap()
            .jobs
            .iter()
            .map(|job| {
                let fact = (
                    job.name(),
                    job.next_run_at().unwrap(),
                    job.schedule().unwrap(),
                );
                (job.id().to_owned(), fact)
            })
            .collect();
        world.month();
        assert!(world.kills > 0 && world.set_back > 0, "{zone} {seed}");
        for (id, (name, first, schedule)) in &created {
            let what = format!("{zone}, seed {seed}: {name}");
            runs += world.begun.get(id).map_or(0, Vec::len);
            let handled = handled(&world, id);
            times += handled.iter().map(|(_, _, count)| count).sum::<u64>();
            match schedule {
                Schedule::Cron(_) => check_cron(&world, id, *first, schedule, &what),
                Schedule::Interval(minutes) => check_interval(&world, id, *minutes, &what),
                Schedule::Once(_) => {
                    assert!(handled.len() <= 1, "{what}: {handled:?}");
                    let list = load_jobs(&world.home).unwrap();
                    let waits = list.get(id).is_some_and(Job::is_enabled);
                    assert_eq!(handled.is_empty(), waits, "{what}");
                }
            }
        }
    }
    assert!(
        runs > 3_000 && times > 6_000,
        "{runs} runs for {times} times"
    );
}

/// Every local time is there once, up to the one that comes next.
fn check_cron(world: &World, id: &str, first: Timestamp, schedule: &Schedule, what: &str) {
    let mut expected = first;
    for (begin, end, count) in handled(world, id) {
        let mut counted = 0;
        assert_eq!(begin, expected, "{what}");
        while expected <= end {
            counted += 1;
            expected = schedule.next_after(expected, world.zone()).unwrap();
        }
        assert_eq!(counted, count, "{what}");
    }
    let list = load_jobs(&world.home).unwrap();
    let next = list.get(id).unwrap().next_run_at().unwrap();
    assert_eq!(next, expected, "{what}: what is due next");
}

/// No pause is longer than the interval without a reason. A clock that is set back shows the same
/// time again, by which a job may run.
fn check_interval(world: &World, id: &str, minutes: u32, what: &str) {
    let period = SignedDuration::from_mins(i64::from(minutes));
    let began: BTreeMap<Timestamp, Timestamp> = world.begun[id].iter().copied().collect();
    let twice = world.begun[id].len() - began.len();
    assert!(twice <= world.set_back, "{what}: {twice} times twice");
    for pair in handled(world, id).windows(2) {
        let [(_, end, _), (begin, _, _)] = pair else {
            unreachable!()
        };
        let anchor = began.get(end).copied().unwrap_or(*end).max(*end);
        // As long as a clock is set back at most.
        let most = anchor + period + SignedDuration::from_hours(3);
        assert!(*begin <= most, "{what}: {end} … {begin}");
    }
}
