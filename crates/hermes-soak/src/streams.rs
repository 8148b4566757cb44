//! Streaming chats at the same time.

use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::client::{Api, read_chat};
use crate::gateway::ServedGateway;
use crate::model::Question;
use crate::vitals::Vitals;

/// How often the process is looked at.
const LOOK: Duration = Duration::from_millis(250);
/// Errors that are shown.
const MOST_ERRORS: usize = 10;

/// What came of it.
#[derive(Debug, Clone)]
pub struct StreamsReport {
    /// Chats that were answered, each with its own answer.
    pub chats: usize,
    /// Chats that were not.
    pub failures: usize,
    /// What the first of them met.
    pub errors: Vec<String>,
    /// The gateway before, after one chat.
    pub start: Vitals,
    /// The most it took at any moment.
    pub peak: Vitals,
    /// The gateway after the rest.
    pub end: Vitals,
}

/// Keeps so many streaming chats going for a while, then lets the gateway rest for another. An answer
/// has twenty pieces and takes about two seconds.
pub fn streams(
    program: &Path,
    clients: usize,
    duration: Duration,
    rest: Duration,
) -> StreamsReport {
    let gateway = ServedGateway::start(program);
    let api = gateway.api();
    let first = Question::new("first");
    assert_eq!(
        read_chat(api.chat(&first.text()).unwrap()),
        Ok(first.answer())
    );
    let start = gateway.vitals();
    let until = Instant::now() + duration;
    let chats = AtomicUsize::new(0);
    let failures = AtomicUsize::new(0);
    let errors = Mutex::new(Vec::new());
    let peak = std::thread::scope(|scope| {
        for client in 0..clients {
            let (api, chats, failures, errors) = (&api, &chats, &failures, &errors);
            scope.spawn(move || {
                for number in 0.. {
                    if Instant::now() >= until {
                        break;
                    }
                    match chat(api, format!("c{client}-{number}")) {
                        Ok(()) => {
                            chats.fetch_add(1, Ordering::Relaxed);
                        }
                        Err(error) => {
                            failures.fetch_add(1, Ordering::Relaxed);
                            let mut errors = errors.lock().unwrap();
                            if errors.len() < MOST_ERRORS {
                                errors.push(error);
                            }
                        }
                    }
                }
            });
        }
        let mut peak = start;
        while Instant::now() < until {
            let now = gateway.vitals();
            peak = Vitals {
                kilobytes: peak.kilobytes.max(now.kilobytes),
                descriptors: peak.descriptors.max(now.descriptors),
                threads: peak.threads.max(now.threads),
                pools: peak.pools.max(now.pools),
            };
            std::thread::sleep(LOOK);
        }
        peak
    });
    std::thread::sleep(rest);
    StreamsReport {
        chats: chats.into_inner(),
        failures: failures.into_inner(),
        errors: errors.into_inner().unwrap(),
        start,
        peak,
        end: gateway.vitals(),
    }
}

fn chat(api: &Api, mark: String) -> Result<(), String> {
    let question = Question {
        pieces: 20,
        pause: 100,
        ..Question::new(mark)
    };
    let answer = api.chat(&question.text());
    let text = answer
        .map_err(|error| error.to_string())
        .and_then(read_chat);
    match text {
        Ok(text) if text == question.answer() => Ok(()),
        Ok(text) => Err(format!("{}: another answer: {text}", question.mark)),
        Err(error) => Err(format!("{}: {error}", question.mark)),
    }
}
