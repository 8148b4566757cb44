//! The pictures in the README and in `docs/chat.md`, from a scripted run of the program. A picture
//! that is not what the program shows now fails here; with `HERMES_WRITE_PICTURES` set it is written.

use std::path::Path;

use hermes_testkit::{ModelServer, OnScreen, ScriptedAnswer, picture};
use serde_json::json;

use crate::world::World;

const ANSWER: &str = "The total was off by one because the range left the last day out.\n\n\
    1. `days()` now includes its end\n2. a test covers **leap years**\n\n```rust\n\
    fn days(first: u32, last: u32) -> u32 {\n    last - first + 1 // both ends count\n}\n```\n\n\
    | Month | Before | Now |\n|---|---|---|\n| February | 28 | 29 |\n| March | 30 | 31 |\n";

fn started() -> (World, OnScreen) {
    let world = World::configured(
        ModelServer::start([
            ScriptedAnswer::call(
                "patch",
                &json!({"path": "days.rs", "old_string": "last - first", "new_string": "last - first + 1"}),
            )
            .saying("I will look at the range first."),
            ScriptedAnswer::text(ANSWER),
            ScriptedAnswer::call("terminal", &json!({"command": "rm -rf target/old-reports"})),
        ]),
        "approvals: {mode: manual}",
    );
    world.configure("context_length: 1000000", "approvals: {mode: manual}");
    let source = "fn days(first: u32, last: u32) -> u32 {\n    last - first\n}\n";
    std::fs::write(world.home.user_home().join("days.rs"), source).unwrap();
    let screen = world.hermes(&["chat"]).start_on_screen(40, 84);
    screen.wait_for("test-model");
    (world, screen)
}

#[track_caller]
fn compare(screen: &OnScreen, name: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs")
        .join(name);
    let drawn = settled(&screen.with_screen(picture));
    if std::env::var_os("HERMES_WRITE_PICTURES").is_some() {
        std::fs::write(&path, &drawn).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        kept == drawn,
        "docs/{name} is not what the program shows; write it anew with \
         `HERMES_WRITE_PICTURES=1 cargo nextest run -p hermes --test chat pictures`"
    );
}

/// What ticks stands still in a picture: the moving sign, the time of a call, a countdown.
fn settled(drawn: &str) -> String {
    let mut out = String::new();
    for line in drawn.split_inclusive('\n') {
        let line = line.replace(|c| "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏".contains(c), "⠹");
        let words: Vec<&str> = line.split(' ').collect();
        let settled: Vec<&str> = words
            .iter()
            .enumerate()
            .map(|(at, word)| {
                let is_before_unit = words
                    .get(at + 1)
                    .is_some_and(|next| *next == "s" || next.starts_with("s<"));
                let digits = word
                    .trim_start_matches(|c: char| c != '>')
                    .trim_start_matches('>');
                let number = if digits.is_empty() { word } else { digits };
                match number.len() {
                    3 if is_before_unit && number.contains('.') => "2.4",
                    2 if is_before_unit && number.parse::<u8>().is_ok() => "58",
                    _ => word,
                }
            })
            .collect();
        out.push_str(&settled.join(" "));
    }
    out
}

#[test]
fn pictures_are_current() {
    let (_world, mut screen) = started();
    screen.press("Why is the total of days off by one?\r");
    screen.wait_for("March");
    screen.wait_without("Ctrl-C interrupts");
    compare(&screen, "chat.svg");
    screen.press("remove the old reports\r");
    screen.wait_for("[o]nce");
    screen.press("d");
    screen.wait_for("Denied");
}

#[test]
fn picture_of_an_approval_is_current() {
    let world = World::configured(
        ModelServer::start([ScriptedAnswer::call(
            "terminal",
            &json!({"command": "rm -rf target/old-reports"}),
        )
        .saying("Nothing reads them any more, so I will remove them.")]),
        "approvals: {mode: manual}",
    );
    let mut screen = world.hermes(&["chat"]).start_on_screen(40, 84);
    screen.wait_for("test-model");
    screen.press("Remove the reports of last year\r");
    screen.wait_for("[o]nce");
    // From then on the time is shown.
    screen.wait_until("the time", |shown| {
        shown.contains(".0 s") || shown.contains(".1 s")
    });
    compare(&screen, "chat-approval.svg");
    screen.press("d");
    screen.wait_for("Denied");
}

#[test]
fn picture_of_a_running_command_is_current() {
    let script = "for name in parser dates reports; do echo \"running $name ... ok\"; done; \
        while [ ! -e go-on ]; do sleep 0.05; done";
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "./run-tests"}))
            .saying("I will run the tests."),
        ScriptedAnswer::text("All tests pass."),
    ]);
    let tests = world.home.user_home().join("run-tests");
    std::fs::write(&tests, format!("#!/bin/sh\n{script}\n")).unwrap();
    let executable = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    std::fs::set_permissions(&tests, executable).unwrap();
    let mut screen = world.hermes(&["chat"]).start_on_screen(40, 84);
    screen.wait_for("test-model");
    screen.press("Does everything still work?\r");
    screen.wait_for("running reports ... ok");
    screen.wait_until("the time", |shown| {
        shown.contains(".0 s") || shown.contains(".1 s")
    });
    screen.press("and the docs");
    screen.wait_for("❯ and the docs");
    compare(&screen, "chat-running.svg");
    std::fs::write(world.home.user_home().join("go-on"), "").unwrap();
}

#[test]
fn picture_of_completions_is_current() {
    let (_world, mut screen) = started();
    screen.press("Explain @");
    screen.wait_for("days.rs");
    compare(&screen, "chat-files.svg");
}
