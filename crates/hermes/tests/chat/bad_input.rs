//! Providers, scripts and files that are not what they should be: one clear line, the right code, and
//! a session that can go on.

use hermes_testkit::{ModelServer, ScriptedAnswer, ScriptedCall, TestHome};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::world::{World, assert_paired, session_of};

/// What is said to a session to go on; no prompt of ours contains it.
const ONWARDS: &str = "onwards, please";

/// A failed query: nothing on standard output, one line and hints on standard error, exit 1; then
/// the session goes on.
fn fails_and_goes_on(first: ScriptedAnswer) {
    let world = World::configured(
        ModelServer::start_with(move |request| {
            if request.contains(ONWARDS) {
                ScriptedAnswer::text("fine")
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
        .hermes(&["chat", "-Q", "-q", ONWARDS, "-r", &session])
        .run();
    next.succeeds().prints("fine\n");
}

#[test]
fn html_answer_fails_with_a_message() {
    fails_and_goes_on(ScriptedAnswer::html(200, "<html><body>login</body></html>"));
    fails_and_goes_on(ScriptedAnswer::html(403, "<html><body>no</body></html>"));
}

#[test]
fn wrong_json_types_fail_without_a_crash() {
    // At the same time: where a stream may have broken, it is asked for once more after a while.
    std::thread::scope(|scope| {
        for body in [
            r#"{"choices": 5}"#,
            r#"{"choices": [{"message": []}]}"#,
            r#"{"choices": [{"message": {"content": {"a": 1}, "tool_calls": "none"}}]}"#,
            "[1, 2, 3]",
            r#""text""#,
            "null",
            "",
        ] {
            let answer = ScriptedAnswer::raw(200, "application/json", body.as_bytes());
            scope.spawn(move || fails_and_goes_on(answer));
        }
    });
}

#[test]
fn broken_stream_fails_with_a_message() {
    std::thread::scope(|scope| {
        // Before anything was said, and in the middle of a call.
        scope.spawn(|| fails_and_goes_on(ScriptedAnswer::text("never").cut_after(0)));
        let call = ScriptedAnswer::call("terminal", &json!({"command": "touch half"}));
        scope.spawn(move || fails_and_goes_on(call.cut_after(2)));
        // Events that are none.
        scope.spawn(|| fails_and_goes_on(ScriptedAnswer::events(&["{\"choices\": [", "not json"])));
    });
}

#[test]
fn an_answer_that_always_breaks_off_is_given_as_far_as_it_came() {
    let world = World::with(ModelServer::start_with(|request| {
        if request.contains(ONWARDS) {
            ScriptedAnswer::text("fine")
        } else {
            ScriptedAnswer::pieces(&["some ", "more"]).cut_after(1)
        }
    }));
    let outcome = world.ask("hi");
    outcome.exits(1).prints_part("some ");
    let session = session_of(&outcome);
    let next = world
        .hermes(&["chat", "-Q", "-q", ONWARDS, "-r", &session])
        .run();
    next.succeeds().prints("fine\n");
}

#[test]
fn a_number_that_is_not_even_json_does_not_end_a_turn() {
    let text = json!({"choices": [{"index": 0, "delta": {"content": "done"}}]}).to_string();
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}).to_string();
    let usage =
        r#"{"choices": [], "usage": {"prompt_tokens": NaN, "completion_tokens": -Infinity}}"#;
    let world = World::answering([ScriptedAnswer::events(&[&text, &end, usage, "[DONE]"])]);
    world.ask("hi").succeeds().prints("done\n");
}

#[test]
fn tools_that_do_not_exist_do_not_end_the_session() {
    let world = World::with(ModelServer::start_with(|request| {
        if request.contains(ONWARDS) {
            ScriptedAnswer::text("fine")
        } else {
            ScriptedAnswer::call("launch_rocket", &json!({"to": "the moon"}))
        }
    }));
    let outcome = world.ask("hi");
    outcome.exits(1);
    let session = session_of(&outcome);
    let next = world
        .hermes(&["chat", "-Q", "-q", ONWARDS, "-r", &session])
        .run();
    next.succeeds().prints("fine\n");
    assert_paired(&world.bodies().pop().unwrap());
}

#[test]
fn invalid_usage_numbers_do_not_end_a_turn() {
    let world = World::answering([ScriptedAnswer::text("done")
        .usage(&json!({"prompt_tokens": "NaN", "completion_tokens": -3}))]);
    world.ask("hi").succeeds().prints("done\n");
}

#[test]
fn ten_megabytes_of_arguments_are_handled() {
    let huge = json!({"path": "huge", "content": "x".repeat(10 * 1024 * 1024)});
    let world = World::answering([
        ScriptedAnswer::call("write_file", &huge),
        ScriptedAnswer::text("done"),
    ]);
    let outcome = world.ask("go");
    outcome.succeeds().prints("done\n");
    assert_paired(&world.bodies().pop().unwrap());
}

#[test]
fn non_object_arguments_are_answered_with_an_error() {
    let list = || {
        ScriptedAnswer::raw_calls(vec![ScriptedCall {
            id: "c".to_owned(),
            name: "terminal".to_owned(),
            arguments: "[1, 2]".to_owned(),
        }])
    };
    let world = World::answering([list(), list(), list(), list(), ScriptedAnswer::text("done")]);
    world.ask("go").succeeds().prints("done\n");
    assert_paired(&world.bodies().pop().unwrap());
}

#[test]
fn endless_calls_end_with_the_budget() {
    let world = World::with(ModelServer::start_with(|request| {
        match request.body.get("tools") {
            Some(_) => ScriptedAnswer::call("todo", &json!({})),
            None => ScriptedAnswer::text("stopped"),
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
fn scripts_that_cannot_be_played_say_why() {
    let home = TestHome::new(env!("CARGO_BIN_EXE_hermes"));
    home.put(
        "config.yaml",
        "model: {default: demo, provider: replay, script: script.yaml}\n",
    );
    home.run(["chat", "-Q", "-q", "hi"])
        .exits(1)
        .prints("")
        .says_part("script.yaml");
    for (script, line, reason) in [
        ("turns:\n  - text: [1\n", "line", ""),
        (
            "turns:\n  - text: a\n  - match: /(/\n    text: b\n",
            "3",
            "match",
        ),
        ("turns:\n  - calls: [{arguments: {}}]\n", "2", "tool"),
        ("turns:\n  - delay: soon\n    text: a\n", "2", "delay"),
        ("turn: []\n", "1", "turn"),
        ("- 1\n", "1", ""),
    ] {
        home.put("script.yaml", script);
        let outcome = home.run(["chat", "-Q", "-q", "hi"]);
        outcome.exits(1).prints("").says_part("script.yaml");
        let first = outcome.stderr.lines().next().unwrap();
        assert!(
            first.starts_with("Error: ") && first.contains(line) && first.contains(reason),
            "{outcome}"
        );
    }
}

#[test]
fn ten_megabytes_of_instructions_are_cut_and_said() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    let work = world.home.outside("project");
    std::fs::create_dir(&work).unwrap();
    let huge = format!(
        "the beginning\n{}\nthe end\n",
        "word ".repeat(2 * 1024 * 1024)
    );
    std::fs::write(work.join("AGENTS.md"), &huge).unwrap();
    world.home.put("SOUL.md", &huge);
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "hi"])
        .in_directory(&work)
        .run();
    outcome.succeeds().prints("done\n");
    let system = world.bodies()[0]["messages"][0]["content"].to_string();
    assert!(system.len() < 100_000, "{}", system.len());
    assert!(system.contains("the beginning"));
    outcome.says_part("AGENTS.md");
    outcome.says_part("SOUL.md");
}

#[test]
fn session_from_the_future_can_be_resumed() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("fine")));
    let session = session_of(&world.ask("hi"));
    let later = 4_900_000_000.0_f64;
    let database = hermes_store::rusqlite::Connection::open(world.home.path("state.db")).unwrap();
    for sql in [
        "UPDATE sessions SET started_at = ?1, ended_at = ?1 + 1",
        "UPDATE messages SET timestamp = ?1",
    ] {
        database.execute(sql, [later]).unwrap();
    }
    drop(database);
    world
        .home
        .run(["sessions", "list"])
        .succeeds()
        .prints_part(&session);
    for args in [["-r", session.as_str()].as_slice(), &["-c"]] {
        let outcome = world.hermes(&["chat", "-Q", "-q", "more"]).args(args).run();
        outcome.succeeds().prints("fine\n");
        assert_eq!(session_of(&outcome), session);
    }
    // A new one has its place beside it.
    let other = session_of(&world.ask("another"));
    assert_ne!(other, session);
    assert_eq!(world.stored(&session).len(), 6);
    let messages = world.stored(&session);
    assert_eq!(messages[0]["content"], "hi");
    assert_eq!(messages[5]["content"], "fine");
}

#[test]
fn session_of_a_newer_version_can_be_resumed() {
    let world = World::answering([ScriptedAnswer::text("one"), ScriptedAnswer::text("two")]);
    let session = session_of(&world.ask("hi"));
    let database = hermes_store::rusqlite::Connection::open(world.home.path("state.db")).unwrap();
    database
        .execute_batch(
            "UPDATE schema_version SET version = 99;
             ALTER TABLE messages ADD COLUMN from_the_future TEXT;",
        )
        .unwrap();
    drop(database);
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "more", "-r", &session])
        .run();
    outcome.succeeds().prints("two\n");
}
