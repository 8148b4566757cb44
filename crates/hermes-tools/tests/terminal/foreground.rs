//! Single commands: what they see, what the result says.

use std::time::{Duration, Instant};

use hermes_terminal::shell::ShellFinder;
use pretty_assertions::assert_eq;
use serde_json::json;

use hermes_testkit::eventually;

use super::world::World;

#[test]
fn a_command_runs_as_if_bash_had_got_it_directly() {
    let world = World::new();
    for (command, exit_code, output) in [
        ("true", 0, ""),
        ("", 0, ""),
        ("echo $0 $# $LINENO", 0, "bash 0 1"),
        ("exit 7", 7, ""),
        ("set -e; false; echo not here", 1, ""),
        ("cat <<'E'\na & b $x\nE\nfalse", 1, "a & b $x"),
        ("cat", 0, ""),
        ("echo one\necho two >&2\necho three", 0, "one\ntwo\nthree"),
        ("exec echo replaced", 0, "replaced"),
        ("trap 'echo bye' EXIT", 0, "bye"),
        ("kill -9 $$", -9, ""),
        ("sh -c 'kill -15 $PPID'; sleep 5", -15, ""),
        ("(exit 3)", 3, ""),
        ("set -- a b; echo \"$@\"", 0, "a b"),
        ("echo \"$REPLY\"", 0, ""),
    ] {
        let result = world.run(command);
        assert_eq!(
            (&result["exit_code"], &result["output"], &result["error"]),
            (&json!(exit_code), &json!(output), &json!(null)),
            "{command}"
        );
    }
}

#[test]
fn syntax_errors_have_the_code_and_the_line_bash_gives() {
    let world = World::new();
    for (command, line) in [
        ("if", "line"),
        ("echo \"open", "line 1"),
        ("echo a\n)", "line 2"),
    ] {
        let result = world.run(command);
        assert_eq!(result["exit_code"], 2, "{command}");
        assert!(
            result["output"].as_str().unwrap().contains(line),
            "{result}"
        );
    }
    let missing = world.run("echo a\nnot_a_program");
    assert_eq!(
        missing["output"],
        "a\nbash: line 2: not_a_program: command not found"
    );
    assert_eq!(missing["exit_code_meaning"], "command not found");
}

#[test]
fn a_command_of_a_megabyte_runs_and_one_with_nul_does_not() {
    let world = World::new();
    let long = format!("echo {} | wc -c", "x".repeat(1_000_000));
    assert_eq!(world.output(&long), "1000001");
    let result = world.run("echo a\0b");
    assert_eq!(result["status"], "error");
}

#[test]
fn bad_arguments_are_answered() {
    let world = World::new();
    for (command, found) in [
        (json!(null), "null"),
        (json!(5), "number"),
        (json!([]), "array"),
    ] {
        assert_eq!(
            world.call(json!({ "command": command })),
            json!({
                "output": "",
                "exit_code": -1,
                "error": format!("Invalid command: expected string, got {found}"),
                "status": "error",
            })
        );
    }
    let too_long = world.call(json!({"command": "true", "timeout": 601}));
    assert_eq!(too_long["status"], "error");
    assert!(too_long["error"].as_str().unwrap().contains("600"));
    assert_eq!(
        world.call(json!({"command": "true", "timeout": 600}))["exit_code"],
        0
    );
    assert_eq!(
        world.call(json!({"command": "true", "timeout": 0}))["status"],
        "error"
    );
}

#[test]
fn only_the_three_standard_descriptors_reach_a_command() {
    let world = World::new();
    let listed = world.output("exec ls /proc/self/fd");
    // The fourth is the directory `ls` reads.
    assert_eq!(listed, "0\n1\n2\n3");
    assert_eq!(world.output("ls /proc/self/fd; true"), "0\n1\n2\n3");
}

#[test]
fn nothing_of_a_command_is_in_the_process_table_or_the_environment() {
    let world = World::new();
    let output =
        world.output("tr '\\0' '\\n' < /proc/$$/cmdline; echo needle-in-command >/dev/null");
    assert!(!output.contains("needle-in-command"), "{output}");
    assert!(
        !world
            .output("env; echo >/dev/null needle-two")
            .contains("needle-two")
    );
}

#[test]
fn a_missing_shell_is_an_answer_after_some_tries() {
    let world = World::with_shells(|_| {}, ShellFinder::among(vec!["/nowhere/bash".into()]));
    let started = Instant::now();
    let result = world.run("true");
    assert_eq!(result["exit_code"], -1);
    assert!(result["error"].as_str().unwrap().contains("/nowhere/bash"));
    assert!(started.elapsed() >= Duration::from_millis(30));
}

#[test]
fn what_is_left_behind_does_not_hold_the_result() {
    let world = World::new();
    let started = Instant::now();
    let result = world.run("bash -c 'sleep 20 & echo started'");
    assert!(started.elapsed() < Duration::from_secs(1));
    assert_eq!(result["output"], "started");
}

#[test]
fn many_commands_leave_no_file_and_no_descriptor() {
    let world = World::new();
    world.run("true");
    let descriptors = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let before = descriptors();
    for _ in 0..50 {
        assert_eq!(world.run("true")["exit_code"], 0);
    }
    // A shell may be starting for a next command that will not come.
    assert!(world.terminal.shut_down(Duration::from_secs(10)));
    // Tests of this binary run in processes of their own.
    eventually("all descriptors are closed", || descriptors() == before);
    for place in ["home", "tmp", "work", "user"] {
        assert_eq!(
            std::fs::read_dir(world.path(place)).unwrap().count(),
            0,
            "{place}"
        );
    }
}
