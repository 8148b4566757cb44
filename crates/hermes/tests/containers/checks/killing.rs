//! Killed means killed, inside the container.

use std::time::{Duration, Instant};

use hermes_testkit::{EngineImage, RealEngine};
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

/// Forks twice, makes sessions of its own, empties its environment, lets go of every descriptor.
const DAEMON: &str = "env -i PATH=\"$PATH\" setsid sh -c \
    'exec </dev/null >/dev/null 2>&1; cd /; (setsid sleep 339 &)'";

fn daemon_dies_with_a_timeout(place: &Place) {
    let mut talk = place.talk();
    talk.output("true");
    let id = place.only_id();
    let command = format!("{DAEMON}; sleep 338");
    let result = talk.terminal(json!({"command": command, "timeout": 2}));
    assert_eq!(result["exit_code"], 124, "{result}");
    assert!(!place.runs(&id, "sleep 33"), "{:?}", place.processes(&id));
    // One that was left on purpose is not the next command's.
    talk.terminal(json!({ "command": DAEMON }));
    eventually("it runs", || place.runs(&id, "sleep 339"));
    talk.terminal(json!({"command": "sleep 338", "timeout": 1}));
    assert!(place.runs(&id, "sleep 339"), "{:?}", place.processes(&id));
}

pub(crate) fn a_daemon_dies_with_its_command(engine: RealEngine) {
    daemon_dies_with_a_timeout(&place(engine));
    // The same with a shell that is no bash.
    let image = EngineImage::WithoutBash.name_in(engine);
    let settings = json!({"foreground_guard": false, "docker_image": image});
    daemon_dies_with_a_timeout(&Place::with(engine, settings));
}

pub(crate) fn a_daemon_dies_with_its_background_process(engine: RealEngine) {
    let place = place(engine);
    let mut talk = place.talk();
    talk.output("true");
    let id = place.only_id();
    let command = format!("{DAEMON}; sleep 338");
    let started = talk.terminal(json!({"command": command, "background": true}));
    let process = text(&started, "session_id").to_owned();
    eventually("it runs", || place.runs(&id, "sleep 339"));
    let kill = json!({"action": "kill", "session_id": process});
    assert_eq!(talk.call("process", kill)["status"], "killed");
    assert!(!place.runs(&id, "sleep 33"), "{:?}", place.processes(&id));
}

pub(crate) fn a_daemon_dies_with_a_hermes_that_is_killed(engine: RealEngine) {
    for image in [EngineImage::Shell, EngineImage::WithoutBash] {
        let settings = json!({"foreground_guard": false, "docker_image": image.name_in(engine)});
        let place = Place::with(engine, settings);
        let mut talk = place.talk();
        talk.output("true");
        let id = place.only_id();
        let command = format!("{DAEMON}; sleep 338");
        talk.send("main", "terminal", &json!({ "command": command }));
        eventually("it runs", || place.runs(&id, "sleep 339"));
        talk.hermes.kill();
        eventually("nobody is left", || !place.runs(&id, "sleep 33"));
    }
}
