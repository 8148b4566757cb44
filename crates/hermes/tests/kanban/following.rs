//! Watching what happens while it happens.

use hermes_testkit::Running;
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};

use crate::Desk;

fn interrupt(running: &mut Running, signal: Signal) -> Option<i32> {
    let pid = Pid::from_raw(i32::try_from(running.pid()).unwrap()).unwrap();
    kill_process(pid, signal).unwrap();
    running.wait().code()
}

/// A line without its time.
fn behind_time(line: &str) -> &str {
    line.split_once("] ").unwrap().1
}

#[test]
fn tail_prints_all_events_and_follows() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.create("another", &[]);
    let mut tail = desk.call(&["tail", &id, "--interval", "0.1"]).start();
    assert_eq!(
        tail.next_line().unwrap(),
        format!("Events of {id}. Ctrl-C to stop.")
    );
    let first = tail.next_line().unwrap();
    assert!(
        behind_time(&first).starts_with("created {\"assignee\":null,"),
        "{first}"
    );
    desk.kanban(&["comment", &id, "hello", "--author", "me"])
        .succeeds();
    let second = tail.next_line().unwrap();
    assert_eq!(behind_time(&second), r#"commented {"author":"me","len":5}"#);
    assert_eq!(interrupt(&mut tail, Signal::INT), Some(0));
    assert_eq!(tail.next_line().as_deref(), Some(""));
    assert_eq!(tail.next_line().as_deref(), Some("(stopped)"));
    assert_eq!(tail.next_line(), None);
}

#[test]
fn watch_follows_new_events_and_filters_them() {
    let desk = Desk::new();
    let id = desk.create("old", &["--assignee", "coder"]);
    let mut all = desk.call(&["watch", "--interval", "0.1"]).start();
    let kinds = [
        "watch",
        "--kinds",
        "completed, blocked",
        "--assignee",
        "Coder",
    ];
    let mut some = desk.call(&kinds).args(["--interval", "0.1"]).start();
    for watch in [&all, &some] {
        assert_eq!(
            watch.next_line().unwrap(),
            "Watching the board. Ctrl-C to stop."
        );
    }
    let new = desk.create("new", &[]);
    desk.kanban(&["complete", &new, &id]).succeeds();
    let line = all.next_line().unwrap();
    assert!(
        behind_time(&line).starts_with(&format!("{new} created            (@-) {{")),
        "{line}"
    );
    assert!(behind_time(&all.next_line().unwrap()).starts_with(&format!("{new} completed")));
    assert!(behind_time(&all.next_line().unwrap()).starts_with(&format!("{id} completed")));
    let line = some.next_line().unwrap();
    assert_eq!(
        behind_time(&line),
        format!(r#"{id} completed          (@coder) {{"result_len":0,"summary":null}}"#)
    );
    assert_eq!(interrupt(&mut all, Signal::INT), Some(0));
    assert_eq!(interrupt(&mut some, Signal::TERM), Some(143));
}

#[test]
fn watch_ends_with_a_broken_pipe() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    desk.call(&["tail", &id])
        .run_into_closed_pipe()
        .exits(0)
        .says("");
    desk.call(&["list"])
        .run_into_closed_pipe()
        .exits(0)
        .says("");
    desk.call(&["list", "--json"])
        .run_into_closed_pipe()
        .exits(0)
        .says("");
}

#[test]
fn the_interval_must_be_a_number() {
    let desk = Desk::new();
    let id = desk.create("x", &[]);
    for bad in ["soon", "NaN", "inf"] {
        desk.kanban(&["tail", &id, "--interval", bad])
            .exits(2)
            .prints("");
    }
}
