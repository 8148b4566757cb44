//! Acceptance checks: what must pass before a card is done, whoever says it is.

use std::fs;

use pretty_assertions::assert_eq;
use serde_json::json;

use crate::crew::{Crew, lives, until};
use crate::{Desk, assert_refuses};

#[test]
fn a_card_with_checks_is_done_only_when_they_pass() {
    let desk = Desk::new();
    let id = desk.create(
        "x",
        &[
            "--check",
            "test -e made",
            "--check",
            "echo second; test -e made",
        ],
    );
    let refused = desk.kanban(&["complete", &id]);
    refused.exits(1).prints("").says(&format!(
        "{id}: running 2 acceptance checks\n\
         kanban: {id} is not done: check 1 (test -e made) ended with exit code 1\n\
         hint: it is ready for another attempt (failure 1); `hermes kanban show {id}` shows the output\n"
    ));
    let card = desk.json(&["show", &id]);
    assert_eq!(card["task"]["status"], "ready");
    assert_eq!(card["task"]["consecutive_failures"], 1);
    assert_eq!(card["checked"], "open");
    assert_eq!(card["runs"][0]["outcome"], "check_failed");

    desk.kanban(&["claim", &id]).succeeds();
    let workspace = desk.home.path(&format!("kanban/workspaces/{id}"));
    fs::write(workspace.join("made"), "").unwrap();
    desk.kanban(&["complete", &id, "--summary", "made it"])
        .succeeds()
        .prints(&format!("Completed {id} (2 acceptance checks passed)\n"));
    let card = desk.json(&["show", &id]);
    assert_eq!(card["task"]["status"], "done");
    assert_eq!(card["task"]["consecutive_failures"], 0);
    assert_eq!(card["checked"], "checked");
    assert_eq!(card["latest_summary"], "made it");
    desk.kanban(&["show", &id])
        .succeeds()
        .prints_part("Checks (2, passed):\n  1. test -e made  ✓ passed in ");
    assert!(
        !workspace.exists(),
        "a finished card needs no scratch place"
    );
}

#[test]
fn a_failed_check_is_recorded_and_counts_as_a_failure() {
    let desk = Desk::new();
    let id = desk.create("x", &["--check", "echo out; echo err >&2; exit 7"]);
    for _ in 0..2 {
        desk.kanban(&["complete", &id])
            .exits(1)
            .says_part("  | out\n  | err\n")
            .says_part("ended with exit code 7");
    }
    let event = desk.last_event(&id, "check_failed");
    assert_eq!(event["command"], "echo out; echo err >&2; exit 7");
    assert_eq!(
        (&event["exit_code"], &event["timed_out"], &event["output"]),
        (&json!(7), &json!(false), &json!("out\nerr\n"))
    );
    assert!(event["duration_ms"].is_i64());
    let card = desk.json(&["show", &id]);
    let comment = card["comments"][1]["body"].to_string();
    for part in ["exit code 7", "echo out; echo err", "    out"] {
        assert!(comment.contains(part), "{part}: {comment}");
    }
    assert_eq!(card["task"]["status"], "blocked");
    assert!(desk.events(&id).contains(&"gave_up".to_owned()));
    assert_refuses(
        &desk.kanban(&["edit", &id, "--check", " "]),
        1,
        "the command of a check cannot be blank",
    );
}

#[test]
fn a_check_over_its_time_limit_is_terminated() {
    let desk = Desk::new();
    desk.home
        .put("config.yaml", "kanban:\n  check_timeout_seconds: 1\n");
    let mark = desk.home.outside("child");
    let check = format!("sleep 300 & echo $! > {}; sleep 300", mark.display());
    let id = desk.create("x", &["--check", &check, "--sandbox", "off"]);
    desk.kanban(&["complete", &id])
        .exits(1)
        .says_part("ran out of time");
    assert!(!lives(&fs::read_to_string(mark).unwrap()));
    assert_eq!(desk.last_event(&id, "check_failed")["timed_out"], true);
}

#[test]
fn checks_run_as_a_script_of_the_users_without_secrets() {
    let desk = Desk::new();
    let out = desk.home.outside("environment");
    let check = format!("env > {}; pwd; test -z \"$(cat)\"", out.display());
    let directory = desk.home.user_home().join("project");
    fs::create_dir_all(&directory).unwrap();
    let id = desk.create(
        "x",
        &[
            "--check",
            &check,
            "--workspace",
            &format!("dir:{}", directory.display()),
            "--sandbox",
            "off",
        ],
    );
    desk.call(&["complete", &id])
        .env("OPENAI_API_KEY", "sk-very-secret-value-0123456789")
        .env("HERMES_KANBAN_RUN_ID", "77")
        .env("PLAIN", "stays")
        .run()
        .succeeds();
    let env = fs::read_to_string(out).unwrap();
    assert!(!env.contains("sk-very-secret"), "{env}");
    assert!(env.lines().any(|line| line == "PLAIN=stays"), "{env}");
}

#[test]
fn a_worker_cannot_complete_a_card_whose_check_fails() {
    let crew = Crew::new();
    let id = crew.file(
        "if test $(wc -l < \"$here/pids\") -ge 2; then : > made; fi\n\
         \"$HERMES_REAL\" kanban complete $HERMES_KANBAN_TASK --summary 'all done'",
        &["--check", "test -e made"],
    );
    let _daemon = crew.daemon(&[]);
    crew.wait_for_status(&id, "done");
    assert_eq!(crew.outcomes(&id), ["check_failed", "completed"]);
    assert_eq!(crew.desk.json(&["show", &id])["checked"], "checked");
}

#[test]
fn checks_are_changed_only_while_nobody_works_on_the_card() {
    let desk = Desk::new();
    let id = desk.create("x", &["--check", "false"]);
    desk.claimed(&id);
    let refused = desk.kanban(&["edit", &id, "--no-checks"]);
    refused.exits(1).prints("").says_part("kanban: ");
    assert_eq!(desk.json(&["show", &id])["checks"][0]["command"], "false");
    // Nor afterwards: it would look as if the new ones had passed.
    let done = desk.create("y", &["--check", "true"]);
    desk.kanban(&["complete", &done]).succeeds();
    assert_refuses(
        &desk.kanban(&["edit", &done, "--check", "false"]),
        1,
        &format!("cannot change the checks of {done}: it is done"),
    );
    assert_refuses(
        &desk.kanban(&["complete", &done]),
        1,
        &format!("cannot complete {done}: it is done"),
    );
}

#[test]
fn checks_are_terminated_with_the_process_that_runs_them() {
    let desk = Desk::new();
    let mark = desk.home.outside("child");
    let check = format!(
        "echo $$ > {0}.tmp; mv {0}.tmp {0}; sleep 300",
        mark.display()
    );
    let id = desk.create("x", &["--check", &check, "--sandbox", "off"]);
    let mut running = desk.call(&["complete", &id]).start();
    let child = until("the check", || fs::read_to_string(&mark).ok());
    assert!(lives(&child));
    running.kill();
    // Whoever comes next ends what is left of it, and begins anew.
    fs::remove_file(&mark).unwrap();
    let mut next = desk.call(&["complete", &id]).start();
    until("the next check", || fs::read_to_string(&mark).ok());
    until("the end of the first", || (!lives(&child)).then_some(()));
    let second = fs::read_to_string(&mark).unwrap();
    next.kill();
    let group = rustix::process::Pid::from_raw(second.trim().parse().unwrap()).unwrap();
    rustix::process::kill_process_group(group, rustix::process::Signal::KILL).ok();
    assert_ne!(desk.status(&id), "done");
}
