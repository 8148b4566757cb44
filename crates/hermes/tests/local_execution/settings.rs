//! Arguments and settings that are wrong, and what is used instead.

use pretty_assertions::assert_eq;
use serde_json::json;

use super::{Place, text};

#[test]
fn a_foreground_command_has_a_longest_timeout() {
    // check 21
    let place = Place::new();
    let mut talk = place.talk();
    let result = talk.terminal(json!({"command": "touch ran", "timeout": 601}));
    assert!(text(&result, "error").contains("600"), "{result}");
    assert!(!place.work("ran").exists());
    let result = talk.terminal(json!({"command": "echo ran", "timeout": 600}));
    assert_eq!(
        (&result["output"], &result["exit_code"]),
        (&json!("ran"), &json!(0))
    );
}

#[test]
fn a_configured_timeout_may_be_longer_than_the_longest_of_a_call() {
    let place = Place::new().env("TERMINAL_TIMEOUT", "1800");
    let mut talk = place.talk();
    let result = talk.terminal(json!({"command": "echo ran"}));
    assert_eq!(result["output"], "ran", "{result}");
    let result = talk.terminal(json!({"command": "echo ran", "timeout": 601}));
    assert!(text(&result, "error").contains("600"), "{result}");
}

#[test]
fn a_command_that_is_no_text_is_told_and_an_empty_one_runs() {
    // check 21
    let place = Place::new();
    let mut talk = place.talk();
    for (command, kind) in [
        (json!(null), "null"),
        (json!(5), "int"),
        (json!([]), "list"),
    ] {
        let result = talk.terminal(json!({"command": command}));
        assert_eq!(result["exit_code"], -1, "{kind}: {result}");
        assert_eq!(result["status"], "error");
        let error = text(&result, "error");
        assert!(
            error.starts_with("Invalid command: expected string, got "),
            "{error}"
        );
    }
    assert_eq!(talk.run("")["exit_code"], 0);
}

#[test]
fn a_timeout_that_is_no_number_is_told_and_the_default_used() {
    // check 22
    let place = Place::new()
        .env("TERMINAL_TIMEOUT", "5m")
        .env("TERMINAL_DOCKER_VOLUMES", "[broken");
    let mut talk = place.talk();
    assert_eq!(talk.output("echo works"), "works");
    drop(talk);
    let log = place.log();
    let told: Vec<&str> = log
        .lines()
        .filter(|line| line.contains("WARN") && line.contains("TERMINAL_TIMEOUT"))
        .collect();
    assert_eq!(told.len(), 1, "{log}");
    assert!(told[0].contains("5m"), "{told:?}");
    assert!(!log.contains("TERMINAL_DOCKER_VOLUMES"), "{log}");
    let shown = place.hermes(&["config", "get", "terminal.timeout"]).run();
    assert_eq!(shown.succeeds().stdout.trim(), "180");
}

#[test]
fn the_setting_of_the_timeout_is_used() {
    // check 22: the rule that a good value does count
    let place = Place::new().env("TERMINAL_TIMEOUT", "1");
    let result = place.talk().run("sleep 30");
    assert_eq!(result["exit_code"], 124, "{result}");
}
