//! `security.tirith_*`: a program that looks into commands. A script stands in for tirith.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// Refuses what has `evil` in it, doubts what has `odd` in it, and writes down what it was asked.
const SCRIPT: &str = r#"#!/bin/sh
printf '%s\n' "$*" >> "$(dirname "$0")/asked"
case "$*" in
  *evil*) echo '{"findings": [{"rule_id": "homograph", "title": "Look-alike host"}]}'; exit 1;;
  *odd*) echo 'no JSON'; exit 2;;
  *slow*) exec sleep 1000;;
  *broken*) exit 9;;
esac
"#;

/// A home with the script as `bin/tirith` on the PATH, in which one command is run; the result of it.
fn run(command: &str, settings: &str, flags: &[&str]) -> (World, Value) {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call("terminal", &json!({"command": command})),
            ScriptedAnswer::text("done"),
        ]),
        &format!("terminal: {{sandbox: 'off'}}\napprovals: {{mode: manual}}\n{settings}"),
    );
    let program = world.home.put_outside("bin/tirith", SCRIPT, 0o755);
    let usual = std::env::var("PATH").unwrap();
    let path = format!("{}:{usual}", program.parent().unwrap().display());
    let call = world.hermes(&["chat", "-Q", "-q", "go"]).args(flags);
    call.env("PATH", path).run().succeeds().prints("done\n");
    let last = world.last_messages();
    let result = last.last().unwrap()["content"].as_str().unwrap();
    let result = serde_json::from_str(result).unwrap();
    (world, result)
}

fn asked(world: &World) -> String {
    std::fs::read_to_string(world.home.outside("bin/asked")).unwrap_or_default()
}

#[test]
fn what_the_scanner_finds_needs_approval() {
    let (world, result) = run("echo evil", "", &[]);
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("tirith:homograph (Look-alike host)"),
        "{error}"
    );
    assert_eq!(
        asked(&world),
        "check --json --non-interactive --shell posix -- echo evil\n"
    );
    let (_, result) = run("echo odd", "", &[]);
    let error = result["error"].as_str().unwrap();
    assert!(
        error.contains("tirith:warn (it gives no details)"),
        "{error}"
    );
    let (world, result) = run("echo fine", "", &[]);
    assert_eq!(result["output"], "fine");
    assert!(asked(&world).contains("echo fine"));
}

#[test]
fn a_command_that_is_too_long_for_the_scanner_needs_approval() {
    let long = format!("echo evil # {}", "\u{fc}".repeat(70_000));
    let (world, result) = run(&long, "", &[]);
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("tirith:unscanned"), "{error}");
    assert_eq!(asked(&world), "");
}

#[test]
fn the_scanner_is_not_asked_where_it_is_off_or_approval_is() {
    for (settings, flags) in [
        ("security: {tirith_enabled: false}", &[][..]),
        ("", &["--yolo"][..]),
    ] {
        let (world, result) = run("echo evil", settings, flags);
        assert_eq!(result["output"], "evil", "{result}");
        assert_eq!(asked(&world), "", "{settings}");
    }
}

#[test]
fn a_scanner_that_fails_lets_commands_through_only_if_the_settings_say_so() {
    for command in ["echo slow", "echo broken"] {
        let (_, result) = run(command, "security: {tirith_timeout: 1}", &[]);
        assert!(result["output"].as_str().is_some(), "{result}");
        let closed = "security: {tirith_timeout: 1, tirith_fail_open: false}";
        let (_, result) = run(command, closed, &[]);
        let error = result["error"].as_str().unwrap();
        assert!(error.contains("tirith:unavailable"), "{error}");
    }
    let nowhere = "security: {tirith_path: /no/such/tirith, tirith_fail_open: false}";
    let (world, result) = run("echo fine", nowhere, &[]);
    let error = result["error"].as_str().unwrap();
    assert!(error.contains("/no/such/tirith was not found"), "{error}");
    assert_eq!(asked(&world), "");
}
