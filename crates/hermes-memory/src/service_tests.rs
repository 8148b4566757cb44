//! Waiting, queueing and failing of a service.

use std::sync::mpsc;

use pretty_assertions::assert_eq;

use super::*;

type Recalling = dyn Fn(&Wake) -> Recalled + Send + Sync;
type Keeping = dyn Fn(&CompletedTurn, &Wake) -> Result<(), Failure> + Send + Sync;

/// Does what a test says, and keeps what it was given.
struct Fake {
    recall: Box<Recalling>,
    keep: Box<Keeping>,
}

impl Default for Fake {
    fn default() -> Self {
        Self {
            recall: Box::new(|_| Ok(vec!["likes tea".to_owned()])),
            keep: Box::new(|_, _| Ok(())),
        }
    }
}

impl MemoryBackend for Fake {
    fn name(&self) -> &'static str {
        "fake"
    }

    fn recall(&self, _: &str, _: &str, stop: &Wake) -> Result<Vec<String>, Failure> {
        (self.recall)(stop)
    }

    fn keep(&self, turn: &CompletedTurn, stop: &Wake) -> Result<(), Failure> {
        (self.keep)(turn, stop)
    }

    fn check(&self, _: &Wake) -> Result<String, Failure> {
        Ok(String::new())
    }
}

type Told = Arc<Mutex<Vec<String>>>;

fn service(fake: Fake) -> (MemoryService, Told) {
    let told = Told::default();
    let heard = Arc::clone(&told);
    let tell = move |line: &str| heard.lock().unwrap().push(line.to_owned());
    (MemoryService::new(Box::new(fake), tell).unwrap(), told)
}

fn turn(user: &str) -> CompletedTurn {
    CompletedTurn {
        session: "s".to_owned(),
        user: user.to_owned(),
        assistant: "answer".to_owned(),
        conversation: Vec::new(),
    }
}

/// Waits for the interrupt, as a server does that never answers.
fn never(stop: &Wake) -> Failure {
    stop.wait(Duration::from_mins(1));
    Failure::new("interrupted")
}

#[test]
fn silent_service_is_waited_for_three_seconds_and_told_of_once() {
    let (service, told) = service(Fake {
        recall: Box::new(|stop| Err(never(stop))),
        ..Fake::default()
    });
    let interrupt = Wake::new().unwrap();
    let begun = Instant::now();
    assert_eq!(service.recall("hello", "s", &interrupt), None);
    let took = begun.elapsed();
    assert!(took >= RECALL_WAIT && took < RECALL_WAIT * 2, "{took:?}");
    interrupt.raise();
    assert_eq!(service.recall("hello", "s", &interrupt), None);
    assert!(begun.elapsed() < RECALL_WAIT * 2);
    assert_eq!(told.lock().unwrap().len(), 1);
    assert!(told.lock().unwrap()[0].contains("no answer within 3 s"));
}

#[test]
fn failing_service_is_left_alone_after_five_failures() {
    let (count, counted) = mpsc::channel();
    let (service, told) = service(Fake {
        recall: Box::new(move |_| {
            count.send(()).unwrap();
            Err(Failure::new("it is down"))
        }),
        ..Fake::default()
    });
    let interrupt = Wake::new().unwrap();
    for _ in 0..8 {
        assert_eq!(service.recall("hello", "s", &interrupt), None);
    }
    assert_eq!(counted.try_iter().count(), 5);
    assert_eq!(told.lock().unwrap().len(), 1);
    let refused = service.call("x", &Value::Null, &interrupt);
    assert!(refused["error"].as_str().unwrap().contains("left alone"));
}

#[test]
fn turns_are_kept_in_order_and_before_the_end() {
    let (kept, got) = mpsc::channel();
    let (service, told) = service(Fake {
        keep: Box::new(move |turn, _| {
            kept.send(turn.user.clone()).unwrap();
            Ok(())
        }),
        ..Fake::default()
    });
    for user in ["one", "two <memory-context>x</memory-context>", "three"] {
        service.keep(turn(user));
    }
    service.keep(turn("  "));
    service.close(&Wake::new().unwrap());
    assert_eq!(got.try_iter().collect::<Vec<_>>(), ["one", "two", "three"]);
    service.keep(turn("after the end"));
    assert_eq!(got.try_iter().count(), 0);
    assert_eq!(*told.lock().unwrap(), Vec::<String>::new());
}

#[test]
fn interrupted_end_gives_up_what_waits_and_says_how_much() {
    let (begun, waits) = mpsc::channel();
    let (service, told) = service(Fake {
        keep: Box::new(move |_, stop| {
            begun.send(()).unwrap();
            Err(never(stop))
        }),
        ..Fake::default()
    });
    for _ in 0..3 {
        service.keep(turn("x"));
    }
    waits.recv().unwrap();
    let interrupt = Wake::new().unwrap();
    interrupt.raise();
    let started = Instant::now();
    service.close(&interrupt);
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(
        *told.lock().unwrap(),
        ["3 turns were not given to the memory service fake; the session has them"]
    );
}

#[test]
fn queue_of_a_hanging_service_is_bounded() {
    let (begun, waits) = mpsc::channel();
    let (service, told) = service(Fake {
        keep: Box::new(move |_, stop| {
            begun.send(()).unwrap();
            Err(never(stop))
        }),
        ..Fake::default()
    });
    service.keep(turn("first"));
    waits.recv().unwrap();
    for _ in 0..MOST_WAITING + 10 {
        service.keep(turn("x"));
    }
    assert_eq!(service.shared.lock().turns.len(), MOST_WAITING);
    let interrupt = Wake::new().unwrap();
    interrupt.raise();
    service.close(&interrupt);
    let lost = MOST_WAITING + 11;
    assert!(told.lock().unwrap()[0].starts_with(&format!("{lost} turns were not given")));
}
