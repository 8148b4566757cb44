//! Everything at once, for minutes: what grows, leaks.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::client::{Api, read_chat};
use crate::gateway::ServedGateway;
use crate::model::Question;
use crate::runs;
use crate::vitals::{Trend, Vitals};

/// How often the process is looked at.
const LOOK: Duration = Duration::from_millis(500);
/// Share of the time after which the load is steady.
const WARM: f64 = 0.3;
/// Time between two cards, and between two wrong keys.
const CARD_EVERY: Duration = Duration::from_secs(10);
const WRONG_KEY_EVERY: Duration = Duration::from_millis(200);
/// Clients of each kind.
const STREAMS: usize = 12;
const LEAVERS: usize = 3;
const RUNS: usize = 3;
/// How long the last card and the job may take.
const LONGEST_END: Duration = Duration::from_mins(2);
/// Faults that are kept.
const MOST_FAULTS: usize = 20;

/// What came of it.
#[derive(Debug, Clone, Default)]
pub struct MixedReport {
    /// What was done, and how often.
    pub done: Vec<(&'static str, usize)>,
    /// The process over time.
    pub samples: Vec<(Duration, Vitals)>,
    /// Trends of the steady part.
    pub memory: Trend,
    /// Megabytes, descriptors, threads.
    pub descriptors: Trend,
    /// Of all of them.
    pub threads: Trend,
    /// What must not be, one line each.
    pub faults: Vec<String>,
}

#[derive(Default)]
struct Tally {
    streams: AtomicUsize,
    left: AtomicUsize,
    runs: AtomicUsize,
    wrong_keys: AtomicUsize,
    cards: AtomicUsize,
    faults: Mutex<Vec<String>>,
}

impl Tally {
    fn note(&self, counter: &AtomicUsize, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => {
                counter.fetch_add(1, Ordering::Relaxed);
            }
            Err(fault) => {
                let mut faults = self.faults.lock().unwrap();
                if faults.len() < MOST_FAULTS {
                    faults.push(fault);
                }
            }
        }
    }
}

/// Keeps a mixture of everything going for a while. `told` hears of the process now and then.
pub fn mixed(
    program: &Path,
    duration: Duration,
    mut told: impl FnMut(Duration, Vitals),
) -> MixedReport {
    let mut gateway = ServedGateway::start(program);
    prepare(&mut gateway, program);
    let api = gateway.api();
    let tally = Tally::default();
    let begin = Instant::now();
    let until = begin + duration;
    let repeat = |pause: Duration, work: &dyn Fn(usize)| {
        for number in 0.. {
            if Instant::now() >= until {
                break;
            }
            work(number);
            std::thread::sleep(pause);
        }
    };
    let mut samples = Vec::new();
    std::thread::scope(|scope| {
        let (api, tally, home, repeat) = (&api, &tally, &gateway.home, &repeat);
        for client in 0..STREAMS {
            scope.spawn(move || {
                repeat(Duration::ZERO, &|number| {
                    let calls = client == 0;
                    tally.note(&tally.streams, stream(api, client, number, calls));
                });
            });
        }
        for client in 0..LEAVERS {
            scope.spawn(move || {
                repeat(Duration::ZERO, &|number| {
                    tally.note(&tally.left, leave(api, client, number));
                });
            });
        }
        for client in 0..RUNS {
            scope.spawn(move || {
                repeat(Duration::ZERO, &|number| {
                    let question = Question {
                        pieces: 8,
                        pause: 50,
                        ..Question::new(format!("r{client}-{number}"))
                    };
                    tally.note(&tally.runs, runs::follow(api, &question));
                });
            });
        }
        scope.spawn(move || {
            repeat(WRONG_KEY_EVERY, &|_| {
                tally.note(&tally.wrong_keys, wrong_key(api));
            });
        });
        scope.spawn(move || {
            repeat(CARD_EVERY, &|number| {
                let made = home.create_card(&format!("card {number}"));
                tally.note(&tally.cards, made.map(drop));
            });
        });
        let mut next = Duration::ZERO;
        while Instant::now() < until {
            let (at, now) = (begin.elapsed(), gateway.vitals());
            samples.push((at, now));
            if at >= next {
                told(at, now);
                next += Duration::from_mins(1).min(duration / 10);
            }
            std::thread::sleep(LOOK);
        }
    });
    let mut faults = tally.faults.into_inner().unwrap();
    faults.extend(unfinished(&gateway));
    let job_runs = job_runs(&gateway);
    let done = [
        ("streams", tally.streams),
        ("streams left by their client", tally.left),
        ("runs read in two parts", tally.runs),
        ("wrong keys", tally.wrong_keys),
        ("cards", tally.cards),
        ("runs of the job", AtomicUsize::new(job_runs)),
    ];
    let done = done.map(|(name, count)| (name, count.into_inner()));
    let trend = |value: fn(Vitals) -> f64| steady(&samples, duration, value);
    MixedReport {
        done: done.to_vec(),
        memory: trend(Vitals::megabytes),
        descriptors: trend(|vitals| vitals.descriptors as f64),
        threads: trend(|vitals| vitals.threads as f64),
        samples,
        faults,
    }
}

/// The trend after the load has become steady.
fn steady(samples: &[(Duration, Vitals)], duration: Duration, value: fn(Vitals) -> f64) -> Trend {
    let warm = duration.mul_f64(WARM);
    let steady: Vec<(Duration, f64)> = samples
        .iter()
        .filter(|(at, _)| *at >= warm)
        .map(|(at, vitals)| (*at, value(*vitals)))
        .collect();
    Trend::through(&steady)
}

/// A worker for cards and a job that needs no agent.
fn prepare(gateway: &mut ServedGateway, program: &Path) {
    gateway.complete_cards(program);
    gateway.home.put("scripts/tick.sh", "echo tick\n");
    let words = [
        "cron",
        "create",
        "every 1m",
        "--script",
        "tick.sh",
        "--no-agent",
    ];
    gateway.home.hermes(&words).run().succeeds();
}

fn stream(api: &Api, client: usize, number: usize, calls: bool) -> Result<(), String> {
    let question = Question {
        pieces: 10,
        pause: 50,
        // A large answer now and then.
        bytes: if number.is_multiple_of(10) {
            100_000
        } else {
            0
        },
        calls,
        ..Question::new(format!("s{client}-{number}"))
    };
    let answer = api
        .chat(&question.text())
        .map_err(|error| error.to_string())?;
    let text = read_chat(answer)?;
    if text == question.answer() {
        Ok(())
    } else {
        Err(format!("{}: another answer: {text}", question.mark))
    }
}

/// Goes away in the middle.
fn leave(api: &Api, client: usize, number: usize) -> Result<(), String> {
    let question = Question {
        pieces: 50,
        pause: 50,
        ..Question::new(format!("l{client}-{number}"))
    };
    let mut answer = api
        .chat(&question.text())
        .map_err(|error| error.to_string())?;
    let mut events = 0;
    let read = answer.events(|_| {
        events += 1;
        events >= 5
    });
    match read {
        Ok(true) => Ok(()),
        other => Err(format!(
            "{}: {other:?} after {events} events",
            question.mark
        )),
    }
}

fn wrong_key(api: &Api) -> Result<(), String> {
    let guess = Api {
        key: "not-the-key-at-all".to_owned(),
        ..api.clone()
    };
    let reply = guess.call("GET", "/v1/models", None);
    match reply.map_err(|error| error.to_string())?.status {
        401 | 429 => Ok(()),
        other => Err(format!("a wrong key got {other}")),
    }
}

/// Cards that are not done within a while.
fn unfinished(gateway: &ServedGateway) -> Option<String> {
    let until = Instant::now() + LONGEST_END;
    loop {
        let cards = gateway.home.cards();
        let open = cards.iter().filter(|(_, status)| status != "done").count();
        if open == 0 {
            return None;
        }
        if Instant::now() > until {
            return Some(format!("{open} of {} cards are not done", cards.len()));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// Files that the job has left.
fn job_runs(gateway: &ServedGateway) -> usize {
    let jobs = std::fs::read_dir(gateway.home.path("cron/output"));
    let jobs = jobs.into_iter().flatten().filter_map(Result::ok);
    let files = jobs.filter_map(|job| std::fs::read_dir(job.path()).ok());
    files.map(Iterator::count).sum()
}
