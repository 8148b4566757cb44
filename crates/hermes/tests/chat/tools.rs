//! Tools in a conversation: files without outside programs, and processes that go on.

use std::time::Duration;

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, messages};

/// The results in a question, parsed.
fn results(body: &Value) -> Vec<Value> {
    let messages = body["messages"].as_array().unwrap().iter();
    let results = messages.filter(|message| message["role"] == "tool");
    results
        .map(|message| serde_json::from_str(message["content"].as_str().unwrap()).unwrap())
        .collect()
}

#[test]
fn files_are_searched_and_read_without_any_program() {
    let world = World::answering([
        ScriptedAnswer::calls(&[
            (
                "search_files",
                json!({"pattern": r"line\d", "path": "work"}),
            ),
            (
                "search_files",
                json!({"pattern": "foo|bar", "path": "work"}),
            ),
            ("read_file", json!({"path": "work/two.txt"})),
        ]),
        ScriptedAnswer::text("done"),
    ]);
    let work = world.home.user_home().join("work");
    std::fs::create_dir(&work).unwrap();
    std::fs::write(work.join("one.txt"), "line1\nlines\na foo\na bar\n").unwrap();
    std::fs::write(work.join("two.txt"), "a\nb\n").unwrap();
    let nothing = world.home.outside("no-programs");
    std::fs::create_dir(&nothing).unwrap();
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "go"])
        .env("PATH", nothing)
        .run();
    outcome.succeeds().prints("done\n");
    let results = results(&world.bodies()[1]);
    assert_eq!(results[0]["total_count"], 1, "{}", results[0]);
    assert_eq!(results[0]["matches"][0]["content"], "line1");
    assert_eq!(results[1]["total_count"], 2, "{}", results[1]);
    assert_eq!(results[2]["content"], "     1|a\n     2|b");
    assert_eq!(results[2]["total_lines"], 2);
}

#[test]
fn a_process_in_the_background_is_listed_and_does_not_outlive_the_program() {
    let world = World::with(ModelServer::start([
        ScriptedAnswer::call(
            "terminal",
            &json!({"command": "echo $$ > pid; exec sleep 300", "background": true}),
        ),
        ScriptedAnswer::call("process", &json!({"action": "list"})),
        ScriptedAnswer::text("done"),
    ]));
    world.ask("go").succeeds().prints("done\n");
    let bodies = world.bodies();
    let results = results(bodies.last().unwrap());
    let started = results[0]["session_id"].as_str().unwrap();
    let listed = results[1]["processes"].as_array().unwrap();
    assert_eq!(listed.len(), 1, "{}", results[1]);
    assert_eq!(listed[0]["session_id"], started);
    assert_eq!(listed[0]["status"], "running");
    let pid = std::fs::read_to_string(world.home.user_home().join("pid")).unwrap();
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    let is_gone = stat.is_empty() || stat.contains(") Z ") || !stat.contains("(sleep)");
    assert!(is_gone, "{stat}");
}

/// How often a question holds a notice, and the last message of it.
fn notices(body: &Value) -> (usize, Value) {
    let text = body.to_string();
    let count = text.matches("[IMPORTANT: Background process").count();
    (count, messages(body).pop().unwrap())
}

#[test]
fn end_of_a_background_process_is_told_with_the_next_message_and_once() {
    let started = ScriptedAnswer::call(
        "terminal",
        &json!({"command": "sleep 1; echo built; exit 3", "background": true, "notify_on_complete": true}),
    );
    let world = World::answering([
        started,
        // The process ends before the turn does.
        ScriptedAnswer::text("one").after(Duration::from_secs(3)),
        ScriptedAnswer::text("two"),
        ScriptedAnswer::text("three"),
    ]);
    let outcome = world
        .hermes(&["chat", "-Q"])
        .stdin("first\nsecond\nthird\n")
        .run();
    outcome.succeeds().prints("one\ntwo\nthree\n");
    let bodies = world.bodies();
    assert_eq!(results(&bodies[1])[0]["notify_on_complete"], true);
    assert_eq!(notices(&bodies[1]).0, 0);
    let (count, told) = notices(&bodies[2]);
    let told = told["content"].as_str().unwrap();
    assert_eq!(count, 1);
    assert!(
        told.contains("exited (exit code 3)") && told.contains("built"),
        "{told}"
    );
    assert!(told.ends_with("]\n\nsecond"), "{told}");
    let (count, last) = notices(&bodies[3]);
    assert_eq!((count, &last["content"]), (1, &json!("third")));
}

#[test]
fn matching_line_of_a_background_process_is_told_after_the_next_tool_call() {
    let watched = json!({
        "command": "sleep 1; echo server READY; sleep 300",
        "background": true,
        "watch_patterns": ["READY"],
    });
    let world = World::answering([
        ScriptedAnswer::call("terminal", &watched),
        ScriptedAnswer::call("terminal", &json!({"command": "sleep 3"})),
        ScriptedAnswer::text("done"),
    ]);
    world.ask("go").succeeds().prints("done\n");
    let (count, last) = notices(world.bodies().last().unwrap());
    assert_eq!((count, &last["role"]), (1, &json!("tool")));
    let told = last["content"].as_str().unwrap();
    assert!(
        told.contains("printed a line with") && told.contains("server READY"),
        "{told}"
    );
}
