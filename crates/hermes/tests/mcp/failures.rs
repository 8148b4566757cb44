//! Servers that fail at the start of conversations: remembered, said once, tried again.

use std::time::{Duration, Instant};

use hermes_testkit::eventually;
use serde_json::{Value, json};

use crate::Desk;

const FINE: &str = "turns:\n  - text: fine\n";

/// A server in these modes that counts its starts in a file.
fn counting(modes: &[&str]) -> (Desk, std::path::PathBuf) {
    let desk = Desk::new(&[], "");
    let count = desk.home.outside("starts");
    let count_text = count.display().to_string();
    let mut args = vec![crate::script().display().to_string(), "counts".to_owned()];
    args.extend(modes.iter().map(|mode| (*mode).to_owned()));
    args.push(count_text);
    let servers = json!({"srv": {"command": "python3", "args": args}});
    desk.settings(&format!("mcp_servers: {servers}\n"));
    (desk, count)
}

fn starts(count: &std::path::Path) -> usize {
    let text = std::fs::read_to_string(count).unwrap_or_default();
    text.lines().count()
}

/// Sets the note of the failure back by so many seconds.
fn age_note(desk: &Desk, seconds: u64) {
    let directory = desk.home.path("cache/mcp");
    let entries = std::fs::read_dir(&directory).unwrap().flatten();
    let note = entries
        .map(|entry| entry.path())
        .find(|path| path.to_string_lossy().ends_with(".failed.json"))
        .unwrap();
    let mut value: Value = serde_json::from_slice(&std::fs::read(&note).unwrap()).unwrap();
    value["at"] = json!(value["at"].as_u64().unwrap() - seconds);
    std::fs::write(&note, value.to_string()).unwrap();
}

#[test]
fn a_broken_server_is_reported_once_and_left_alone_for_a_while() {
    let (desk, count) = counting(&["broken"]);
    let first = desk.chat(FINE);
    first
        .succeeds()
        .prints_part("fine")
        .says_part("it ended before it answered (exit code 4); it said: no licence found")
        .says_part("tried again after a minute")
        .says_part("`hermes mcp test srv` tries it at once");
    let before = starts(&count);
    assert!(before >= 1);
    let second = desk.chat(FINE);
    second.succeeds().prints_part("fine");
    assert!(!second.stderr.contains("MCP server"), "{}", second.stderr);
    assert_eq!(starts(&count), before, "the server was started again");
    // The model knows all the same.
    let listed = desk.home.run(["mcp", "list", "--json"]).succeeds().json();
    let problem = listed["servers"][0]["problem"].as_str().unwrap();
    assert!(problem.contains("no licence found"), "{problem}");
    // After the pause it is tried again, and the next pause is longer.
    age_note(&desk, 61);
    desk.chat(FINE)
        .succeeds()
        .says_part("tried again after 2 minutes");
    assert!(starts(&count) > before);
}

#[test]
fn a_server_that_was_mended_is_used_after_mcp_test() {
    let (desk, count) = counting(&["broken"]);
    desk.chat(FINE).succeeds();
    std::fs::write(format!("{}.mended", count.display()), "").unwrap();
    desk.home.run(["mcp", "test", "srv"]).succeeds();
    assert_eq!(desk.call("echo", json!({"text": "x"}))["result"], "x");
    let listed = desk.home.run(["mcp", "list", "--json"]).succeeds().json();
    assert_eq!(listed["servers"][0]["problem"], Value::Null);
}

#[test]
fn a_changed_entry_is_tried_at_once() {
    let (desk, count) = counting(&["broken"]);
    desk.chat(FINE).succeeds();
    let before = starts(&count);
    let settings = desk.home.read("config.yaml");
    // Only the value of a variable changes.
    desk.home.put(
        "config.yaml",
        settings.replace("\"command\"", "\"env\": {\"K\": \"1\"}, \"command\""),
    );
    desk.chat(FINE).succeeds().says_part("no licence found");
    let between = starts(&count);
    assert!(between > before);
    let settings = desk.home.read("config.yaml");
    desk.home.put(
        "config.yaml",
        settings.replace("\"K\": \"1\"", "\"K\": \"2\""),
    );
    desk.chat(FINE).succeeds().says_part("no licence found");
    assert!(starts(&count) > between);
}

#[test]
fn a_server_that_is_too_slow_is_waited_for_once() {
    let (desk, count) = counting(&["silent"]);
    let begun = Instant::now();
    desk.chat(FINE)
        .succeeds()
        .says_part("it did not answer within 2 s");
    assert!(begun.elapsed() >= Duration::from_millis(1_500));
    let second = desk.chat(FINE);
    second.succeeds();
    assert!(!second.stderr.contains("MCP server"), "{}", second.stderr);
    // It is tried all the same, beside the conversation, whose length decides whether that is seen.
    eventually("the server was started again", || {
        if starts(&count) < 2 {
            desk.chat(FINE).succeeds();
        }
        starts(&count) >= 2
    });
}

#[test]
fn a_server_that_comes_back_is_used_in_the_same_conversation() {
    let (desk, count) = counting(&["broken"]);
    desk.home.put(
        "script.yaml",
        "turns:\n  - match: {user: one}\n    text: first\n  \
         - match: {user: two, step: 1}\n    calls: [{tool: mcp__srv__echo, arguments: {text: back}}]\n  \
         - match: {last: back}\n    text: heard\n  - text: missed\n",
    );
    let mut running = desk.home.hermes(["chat", "-Q"]).start();
    running.write_line("one");
    assert_eq!(running.next_line().as_deref(), Some("first"));
    std::fs::write(format!("{}.mended", count.display()), "").unwrap();
    // It is tried again after one, two and four seconds; what it has is kept on disk.
    eventually("the tools are known", || {
        let listed = desk.home.run(["mcp", "list", "--json"]).succeeds().json();
        listed["servers"][0]["tools"].is_number()
    });
    running.write_line("two");
    assert_eq!(running.next_line().as_deref(), Some("heard"));
}
