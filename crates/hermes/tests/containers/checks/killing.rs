//! Killed means killed, inside the container.

use std::time::{Duration, Instant};

use hermes_testkit::RealEngine;
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::json;

use crate::place::{Place, eventually, signal, text};

/// Two that wait, a child in a session of its own, and a shell deaf to the first attempt.
const FAMILY: &str = "sh -c 'sleep 333 & sleep 334' & setsid sleep 335 & \
    (trap '' TERM; exec sleep 336) & touch /root/begun; wait";

fn place(engine: RealEngine) -> Place {
    Place::with(engine, json!({"foreground_guard": false}))
}

#[track_caller]
fn family_is_gone(place: &Place, id: &str) {
    let left: Vec<String> = place
        .processes(id)
        .into_iter()
        .filter(|line| line.contains("sleep 33"))
        .collect();
    assert_eq!(left, [] as [&str; 0]);
}

/// check 14
pub(crate) fn a_timeout_reaches_every_process(engine: RealEngine) {
    let place = place(engine);
    let mut talk = place.talk();
    talk.output("true");
    let id = place.only_id();
    for command in [
        "sh -c 'sleep 333 & sleep 334'",
        "setsid sleep 335 & wait",
        FAMILY,
    ] {
        let begun = Instant::now();
        let result = talk.terminal(json!({"command": command, "timeout": 2}));
        assert!(
            begun.elapsed() < Duration::from_secs(10),
            "{:?}",
            begun.elapsed()
        );
        assert_eq!(result["exit_code"], 124, "{result}");
        assert_eq!(text(&result, "output"), "[Command timed out after 2s]");
        // The answer says that it is so.
        family_is_gone(&place, &id);
    }
    assert_eq!(talk.output("echo well"), "well");
}

/// check 14
pub(crate) fn an_interrupt_reaches_every_process(engine: RealEngine) {
    let place = place(engine);
    place.output("true");
    let id = place.only_id();
    for (sent, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut exec = place.hermes(&["exec", "--json", "--", FAMILY]).start();
        eventually("it runs", || place.sandbox("home/begun").exists());
        signal(&exec, sent);
        let lines: Vec<String> = std::iter::from_fn(|| exec.next_line()).collect();
        let result: serde_json::Value = serde_json::from_str(&lines.concat()).unwrap();
        assert_eq!(result["exit_code"], 130, "{result}");
        assert_eq!(text(&result, "output"), "[Command interrupted]");
        assert_eq!(exec.wait().code(), Some(code));
        family_is_gone(&place, &id);
        std::fs::remove_file(place.sandbox("home/begun")).unwrap();
    }
    assert_eq!(place.only_id(), id);
}

/// A foreground command does not outlive the process that waits for it, even if that is killed.
pub(crate) fn a_command_does_not_outlive_its_process(engine: RealEngine) {
    let place = place(engine);
    let mut talk = place.talk();
    talk.output("true");
    let id = place.only_id();
    talk.send("main", "terminal", &json!({"command": FAMILY}));
    eventually("it runs", || place.runs(&id, "sleep 336"));
    talk.hermes.kill();
    eventually("nobody is left", || !place.runs(&id, "sleep 33"));
    assert_eq!(place.output("echo well"), "well");
    assert_eq!(place.only_id(), id);
}

/// check 15
pub(crate) fn a_command_that_uses_up_all_processes_is_still_killed(engine: RealEngine) {
    let place = Place::with(
        engine,
        json!({"foreground_guard": false, "docker_pids_limit": 32}),
    );
    let mut talk = place.talk();
    talk.output("true");
    let command = "while :; do sleep 337 & done";
    let result = talk.terminal(json!({"command": command, "timeout": 3}));
    assert_eq!(result["exit_code"], 124, "{result}");
    let id = place.only_id();
    assert!(!place.runs(&id, "sleep 337"), "{:?}", place.processes(&id));
    let begun = Instant::now();
    assert_eq!(talk.output("pwd"), "/root");
    // A shell that could not fork tries for seventeen seconds.
    assert!(
        begun.elapsed() < Duration::from_secs(5),
        "{:?}",
        begun.elapsed()
    );
}
