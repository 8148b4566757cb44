//! Time limits and signals, and that nothing is left after them.

use std::time::{Duration, Instant};

use pretty_assertions::assert_eq;
use serde_json::json;

use hermes_testkit::eventually;

use super::{Place, is_alive, text};

#[test]
fn a_timeout_keeps_the_output_and_comes_in_time() {
    // check 16
    let place = Place::new();
    let mut talk = place.talk();
    talk.output("true");
    let started = Instant::now();
    let result = talk.terminal(json!({"command": "echo a; sleep 30", "timeout": 1}));
    assert!(started.elapsed() < Duration::from_secs(2));
    assert_eq!(result["exit_code"], 124);
    assert_eq!(result["output"], "a\n[Command timed out after 1s]");
}

/// Runs into a timeout; the process that wrote its id into `pid` must be gone.
#[track_caller]
fn dies_with_a_timeout(command: &str) {
    // Foreground refuses what plainly leaves something behind; a script that does it is found out
    // only by running it.
    let place = Place::with_config("terminal: {foreground_guard: false}\n");
    let mut talk = place.talk();
    talk.output("true");
    let started = Instant::now();
    let result = talk.terminal(json!({"command": command, "timeout": 1}));
    assert!(started.elapsed() < Duration::from_secs(5));
    assert_eq!(result["exit_code"], 124, "{result}");
    let pid = std::fs::read_to_string(place.work("pid")).unwrap();
    assert!(!is_alive(&pid), "{pid} lives");
}

#[test]
fn a_shell_that_ignores_the_signal_dies() {
    // check 16
    dies_with_a_timeout("trap '' TERM; echo $$ > pid; while :; do sleep 1; done");
}

#[test]
fn a_grandchild_in_a_session_of_its_own_dies() {
    // check 16
    dies_with_a_timeout("setsid sh -c 'echo $$ > pid; exec sleep 60' & wait");
}

#[test]
fn a_daemon_that_forked_twice_dies() {
    // check 16
    dies_with_a_timeout(
        "setsid sh -c '(setsid sh -c \"echo \\$\\$ > pid; exec sleep 60\" &) ; exit' ; sleep 60",
    );
}

#[test]
fn a_signal_is_a_negative_exit_code() {
    // check 16
    let place = Place::new();
    assert_eq!(place.talk().run("kill -9 $$")["exit_code"], -9);
    // A shell's way of saying the same.
    place.hermes(&["exec", "--", "kill -9 $$"]).run().exits(137);
}

#[test]
fn exec_passes_output_and_exit_codes_on() {
    // check 16
    let place = Place::new();
    let outcome = place.hermes(&["exec", "--", "echo out; exit 3"]).run();
    outcome.exits(3).prints("out\n");
    let outcome = place
        .hermes(&["exec", "--", "printf", "%s|", "a b", "$HOME"])
        .run();
    outcome.succeeds().prints("a b|$HOME|\n");
    let outcome = place
        .hermes(&["exec", "--timeout", "1", "--", "echo a; sleep 30"])
        .run();
    outcome
        .exits(124)
        .prints_part("[Command timed out after 1s]");
}

#[test]
fn a_grandchild_that_holds_the_output_does_not_hold_the_call() {
    // check 18
    let place = Place::that_approves();
    let mut talk = place.talk();
    talk.output("true");
    let started = Instant::now();
    let result = talk.run("bash -c 'sleep 20 & echo $! > pid; echo started'");
    assert_eq!(text(&result, "output"), "started", "{result}");
    assert!(started.elapsed() < Duration::from_secs(1));
    // It was not the call's to end.
    let pid = std::fs::read_to_string(place.work("pid")).unwrap();
    assert!(is_alive(&pid));
    talk.output(&format!("kill {}", pid.trim()));
    eventually("the grandchild is gone", || !is_alive(&pid));
}

#[test]
fn foreground_dies_with_hermes() {
    // check 16, 17: the part that needs no signal handler
    let place = Place::new();
    let mut talk = place.talk();
    talk.send(
        "main",
        "terminal",
        &json!({"command": "echo $$ > pid; sleep 60; true"}),
    );
    let mut pid = String::new();
    eventually("the command runs", || {
        pid = std::fs::read_to_string(place.work("pid")).unwrap_or_default();
        pid.ends_with('\n')
    });
    talk.hermes.kill();
    eventually("the command is gone", || !is_alive(&pid));
}

#[test]
fn a_script_dies_with_hermes_and_so_does_what_it_started() {
    // check 17, 29
    let place = Place::that_approves();
    let mut talk = place.talk();
    let code = "import os, subprocess, time\n\
        open('script', 'w').write(f'{os.getpid()}\\n')\n\
        subprocess.Popen(['sh', '-c', 'echo $$ > escaped; exec sleep 60'], start_new_session=True)\n\
        time.sleep(60)";
    talk.send("main", "execute_code", &json!({ "code": code }));
    let pid_in = |name: &str| std::fs::read_to_string(place.work(name)).unwrap_or_default();
    eventually("both run", || {
        pid_in("script").ends_with('\n') && pid_in("escaped").ends_with('\n')
    });
    talk.hermes.kill();
    eventually("both are gone", || {
        !is_alive(&pid_in("script")) && !is_alive(&pid_in("escaped"))
    });
}
