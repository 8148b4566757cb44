//! Signals: within a moment, with the right code, and with a session that can go on.

use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::world::{World, assert_paired};

/// A busy machine may be slow.
const SOON: Duration = Duration::from_secs(10);
/// What is promised, which the best of some tries must keep.
const PROMISED: Duration = Duration::from_millis(500);
const TRIES: usize = 20;

fn signal(pid: u32, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(pid).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
}

#[test]
fn a_signal_during_a_request_ends_it_at_once() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let slow = ScriptedAnswer::text("late").after(Duration::from_mins(1));
        let world = World::with(ModelServer::always(slow));
        let mut running = world.hermes(&["chat", "-Q", "-q", "hi"]).start();
        world.server.wait_for_questions(1);
        let begun = Instant::now();
        signal(running.pid(), sent);
        let status = running.wait();
        assert!(begun.elapsed() < SOON, "{:?}", begun.elapsed());
        assert_eq!((status.code(), status.signal()), (Some(code), None));
        let said = running.errors().join("\n");
        assert!(!said.contains("panicked"), "{said}");
        let session = said
            .lines()
            .find_map(|line| line.strip_prefix("session_id: "))
            .unwrap()
            .to_owned();
        assert_eq!(world.stored(&session).len(), 1);
    }
}

#[test]
fn interrupted_turn_ends_within_half_a_second() {
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143)] {
        let times = (0..TRIES).map(|_| {
            let slow = ScriptedAnswer::text("late").after(Duration::from_secs(20));
            let world = World::with(ModelServer::always(slow));
            let mut running = world.hermes(&["chat", "-Q", "-q", "hi"]).start();
            world.server.wait_for_questions(1);
            let begun = Instant::now();
            signal(running.pid(), sent);
            assert_eq!(running.wait().code(), Some(code));
            begun.elapsed()
        });
        let kept = times.into_iter().find(|time| *time < PROMISED);
        assert!(kept.is_some(), "never within {PROMISED:?}");
    }
}

#[test]
fn interrupted_answer_is_kept_as_far_as_it_came() {
    let answer = ScriptedAnswer::pieces(&["one ", "two ", "three"]);
    let world = World::with(ModelServer::always(answer.slowly(Duration::from_mins(1))));
    let mut running = world.hermes(&["chat", "-q", "hi", "--json"]).start();
    let next = || -> Value { serde_json::from_str(&running.next_line().unwrap()).unwrap() };
    let session = next()["session_id"].as_str().unwrap().to_owned();
    assert_eq!(next(), json!({"type": "text", "text": "one "}));
    signal(running.pid(), Signal::INT);
    let last: Value = serde_json::from_str(&running.next_line().unwrap()).unwrap();
    assert_eq!(last["type"], json!("result"));
    assert_eq!(last["outcome"], json!("interrupted"));
    assert_eq!(last["answer"], json!("one"));
    assert_eq!(running.wait().code(), Some(130));
    let stored = world.stored(&session);
    assert_eq!(stored.len(), 2);
    assert_eq!(stored[1]["content"], json!("one"));
}

#[test]
fn interrupted_session_can_be_resumed() {
    let world = World::with(ModelServer::start_with(|request| {
        if request.contains("again") {
            ScriptedAnswer::text("went on")
        } else {
            ScriptedAnswer::text("late").after(Duration::from_mins(1))
        }
    }));
    let mut running = world.hermes(&["chat", "-Q", "-q", "hi"]).start();
    world.server.wait_for_questions(1);
    signal(running.pid(), Signal::INT);
    assert_eq!(running.wait().code(), Some(130));
    let outcome = world.hermes(&["chat", "-Q", "-q", "again", "-c"]).run();
    outcome.succeeds().prints("went on\n");
    assert_eq!(world.last_messages()[1]["content"], json!("hi\n\nagain"));
}

#[test]
fn a_signal_during_a_command_ends_it_and_the_session_goes_on() {
    let world = World::answering([
        ScriptedAnswer::calls(&[
            (
                "terminal",
                json!({"command": "touch begun; sleep 60; touch ended"}),
            ),
            ("terminal", json!({"command": "touch second"})),
        ]),
        ScriptedAnswer::text("went on"),
    ]);
    let mut running = world.hermes(&["chat", "-Q", "-q", "hi"]).start();
    let begun = world.home.user_home().join("begun");
    let deadline = Instant::now() + Duration::from_mins(1);
    while !begun.exists() {
        assert!(Instant::now() < deadline, "the command did not begin");
        std::thread::sleep(Duration::from_millis(10));
    }
    let sent = Instant::now();
    signal(running.pid(), Signal::INT);
    assert_eq!(running.wait().code(), Some(130));
    assert!(sent.elapsed() < SOON);
    assert!(!world.home.user_home().join("second").exists());
    let outcome = world.hermes(&["chat", "-Q", "-q", "again", "-c"]).run();
    outcome.succeeds().prints("went on\n");
    let body = world.bodies().pop().unwrap();
    assert_paired(&body);
    let text = body.to_string();
    assert!(
        text.contains("was not called: the user interrupted"),
        "{text}"
    );
}
