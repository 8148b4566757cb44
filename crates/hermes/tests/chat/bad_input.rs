//! Providers, scripts and files that are not what they should be: one clear line, the right code, and
//! a session that can go on.

use hermes_testkit::{Answer, Call, ModelServer, TestHome};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, assert_paired, session_of};

/// A failed query: nothing on standard output, one line and hints on standard error, exit 1; then
/// the session goes on.
fn fails_and_goes_on(first: Answer) {
    let world = World::configured(
        ModelServer::start_with(move |request| {
            if request.contains("again") {
                Answer::text("fine")
            } else {
                first.clone()
            }
        }),
        "agent:\n  api_max_retries: 1\n",
    );
    let outcome = world.ask("hi");
    outcome.exits(1).prints("");
    let errors = outcome
        .stderr
        .lines()
        .filter(|line| line.starts_with("Error: "));
    assert_eq!(errors.count(), 1, "{outcome}");
    let session = session_of(&outcome);
    let next = world
        .hermes(&["chat", "-Q", "-q", "again", "-r", &session])
        .run();
    next.succeeds().prints("fine\n");
}

#[test]
fn html_instead_of_an_answer() {
    fails_and_goes_on(Answer::html(200, "<html><body>login</body></html>"));
}

#[test]
fn wrong_types_everywhere() {
    fails_and_goes_on(Answer::raw(200, "application/json", br#"{"choices": 5}"#));
}

#[test]
fn numbers_that_are_none_do_not_end_a_turn() {
    let world = World::answering([
        Answer::text("done").usage(&json!({"prompt_tokens": "NaN", "completion_tokens": -3}))
    ]);
    world.ask("hi").succeeds().prints("done\n");
}

#[test]
fn ten_megabytes_of_arguments() {
    let huge = json!({"path": "huge", "content": "x".repeat(10 * 1024 * 1024)});
    let world = World::answering([Answer::call("write_file", &huge), Answer::text("done")]);
    let outcome = world.ask("go");
    outcome.succeeds().prints("done\n");
    assert_paired(&world.bodies().pop().unwrap());
}

#[test]
fn arguments_that_are_no_object() {
    let list = || {
        Answer::raw_calls(vec![Call {
            id: "c".to_owned(),
            name: "terminal".to_owned(),
            arguments: "[1, 2]".to_owned(),
        }])
    };
    let world = World::answering([list(), list(), list(), list(), Answer::text("done")]);
    world.ask("go").succeeds().prints("done\n");
    assert_paired(&world.bodies().pop().unwrap());
}

#[test]
fn endless_calls_end_with_the_budget() {
    let world = World::with(ModelServer::start_with(|request| {
        match request.body.get("tools") {
            Some(_) => Answer::call("todo", &json!({})),
            None => Answer::text("stopped"),
        }
    }));
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "go", "--max-turns", "5"])
        .run();
    outcome.exits(1).prints("stopped\n");
    assert_eq!(world.bodies().len(), 6);
}

#[test]
fn a_script_with_an_error_names_line_and_reason() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(
        "config.yaml",
        "model: {default: demo, provider: replay, script: script.yaml}\n",
    );
    home.put("script.yaml", "turns:\n  - text: hi\n    txet: oops\n");
    let outcome = home.run(["chat", "-Q", "-q", "hi"]);
    outcome.exits(1).prints("").says_part("3").says_part("txet");
    home.put("script.yaml", "turns:\n  - text: hi\n");
    home.run(["chat", "-Q", "-q", "hi"])
        .succeeds()
        .prints("hi\n");
}

#[test]
fn a_session_of_a_later_program_goes_on() {
    let world = World::answering([Answer::text("one"), Answer::text("two")]);
    let session = session_of(&world.ask("hi"));
    let script = "import sqlite3, sys\n\
        db = sqlite3.connect(sys.argv[1])\n\
        db.execute('UPDATE schema_version SET version = 99')\n\
        db.execute('ALTER TABLE messages ADD COLUMN from_the_future TEXT')\n\
        db.commit()\n";
    let status = std::process::Command::new("python3")
        .args(["-c", script])
        .arg(world.home.path("state.db"))
        .status()
        .unwrap();
    assert!(status.success());
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "more", "-r", &session])
        .run();
    outcome.succeeds().prints("two\n");
}
