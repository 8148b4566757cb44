//! Servers that do not behave: each is bounded, and reported in one line.

use std::time::Instant;

use serde_json::json;

use crate::{Desk, SECOND, wait_for_none};

#[test]
fn a_greeting_on_standard_output_is_overlooked() {
    let desk = Desk::new(&["garbage"], "");
    assert_eq!(desk.call("echo", json!({"text": "x"}))["result"], "x");
}

#[test]
fn mcp_test_says_in_one_line_what_is_wrong() {
    for (mode, expected) in [
        (
            "exits",
            "it ended before it answered (exit code 4); it said: no licence found",
        ),
        ("silent", "it did not answer within 2 s"),
        (
            "only-garbage",
            "it prints something else than messages on its standard output",
        ),
        ("endless-line", "it sent a message that is too long"),
    ] {
        let desk = Desk::new(&[mode], "    connect_timeout: 2\n");
        let begun = Instant::now();
        let run = desk.home.run(["mcp", "test", "srv"]);
        assert!(
            begun.elapsed() < 20 * SECOND,
            "{mode}: {:?}",
            begun.elapsed()
        );
        run.exits(1).says_part(expected);
        wait_for_none(mode);
    }
}

#[test]
fn a_command_that_is_not_there_is_named_with_the_way_out() {
    let desk = Desk::new(&[], "");
    desk.settings("mcp_servers: {srv: {command: no-such-program}}\n");
    let run = desk.home.run(["mcp", "test", "srv"]);
    run.exits(1)
        .says_part("the command 'no-such-program' was not found")
        .says_part("full path");
}

#[test]
fn a_server_that_floods_is_given_up() {
    // With news, and with answers to questions that nobody asked.
    for mode in ["flood", "flood-answers"] {
        let desk = Desk::new(&[mode], "    timeout: 60\n");
        let result = desk.call("echo", json!({"text": "x"}));
        assert!(
            result["error"].as_str().unwrap().contains("floods"),
            "{mode}: {result}"
        );
        wait_for_none(mode);
    }
}

#[test]
fn the_end_of_a_conversation_does_not_wait_for_a_server_that_is_starting() {
    let desk = Desk::new(&["silent", "starting-1"], "");
    let script = "turns:\n  - text: fine\n";
    desk.chat(script).succeeds();
    // The second conversation does not wait for it at its start either.
    let begun = Instant::now();
    desk.chat(script).succeeds();
    assert!(begun.elapsed() < 6 * SECOND, "{:?}", begun.elapsed());
    wait_for_none("starting-1");
}

#[test]
fn a_call_that_never_ends_ends_with_its_time() {
    let desk = Desk::new(&[], "    timeout: 1\n");
    let begun = Instant::now();
    let result = desk.call("sleep", json!({"seconds": 60}));
    assert!(begun.elapsed() < 15 * SECOND);
    assert!(
        result["error"]
            .as_str()
            .unwrap()
            .contains("did not answer within 1 s"),
        "{result}"
    );
}

#[test]
fn a_server_that_dies_during_a_call_is_an_answer() {
    let desk = Desk::new(&[], "");
    let result = desk.call("die", json!({}));
    assert!(
        result["error"]
            .as_str()
            .unwrap()
            .contains("ended while the call ran"),
        "{result}"
    );
}

#[test]
fn settings_that_make_no_sense_stop_one_server_only() {
    let desk = Desk::new(&[], "  other: {url: \"ftp://h\"}\n");
    assert_eq!(desk.call("echo", json!({"text": "x"}))["result"], "x");
    let listed = desk.home.run(["mcp", "list"]);
    listed
        .succeeds()
        .says_part("mcp_servers.other.url: an address begins with http:// or https://");
}
