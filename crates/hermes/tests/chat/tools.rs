//! Tools in a conversation: files without outside programs, and processes that go on.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

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
