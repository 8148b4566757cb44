//! Answers of all kinds, and what is made of them.

use hermes_testkit::{ModelServer, ScriptedAnswer, ScriptedCall};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, assert_paired, session_of};

fn call(command: &str) -> ScriptedAnswer {
    ScriptedAnswer::call("terminal", &json!({"command": command}))
}

/// The result of the last call in a question.
fn last_result(question: &Value) -> String {
    let messages = question["messages"].as_array().unwrap();
    let result = messages.iter().rev().find(|m| m["role"] == "tool").unwrap();
    result["content"].as_str().unwrap().to_owned()
}

#[test]
fn thirty_calls_take_thirty_one_requests() {
    let answers = (0..30).map(|n| call(&format!("echo {n}")));
    let world = World::answering(answers.chain([ScriptedAnswer::text("done")]));
    world.ask("go").succeeds().prints("done\n");
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 31);
    // Nothing was asked of the server but questions.
    assert_eq!(world.server.received().len(), 31);
    let last = bodies.last().unwrap();
    assert_paired(last);
    assert_eq!(last["messages"].as_array().unwrap().len(), 62);
    assert!(last_result(last).contains("29"));
}

#[test]
fn identical_calls_of_one_message_are_made_once() {
    let twice = json!({"command": "echo x >> log"});
    let world = World::answering([
        ScriptedAnswer::calls(&[("terminal", twice.clone()), ("terminal", twice)]),
        ScriptedAnswer::text("done"),
    ]);
    let outcome = world.ask("go");
    outcome.succeeds();
    let log = std::fs::read_to_string(world.home.user_home().join("log")).unwrap();
    assert_eq!(log, "x\n");
    let stored = world.stored(&session_of(&outcome));
    assert_eq!(stored.len(), 4);
    assert_eq!(stored[1]["tool_calls"].as_array().unwrap().len(), 1);
}

#[test]
fn misspelt_tool_name_calls_the_nearest_tool() {
    let world = World::answering([
        ScriptedAnswer::call("Terminal_Tool", &json!({"command": "echo yes"})),
        ScriptedAnswer::text("done"),
    ]);
    let outcome = world.ask("go");
    outcome
        .succeeds()
        .prints("done\n")
        .says_part("Terminal_Tool");
    assert!(last_result(&world.bodies()[1]).contains("yes"));
}

#[test]
fn unknown_tool_is_answered_with_the_known_tools() {
    let wrong = || ScriptedAnswer::call("nosuchtool", &json!({}));
    let world = World::answering([
        wrong(),
        wrong(),
        wrong(),
        ScriptedAnswer::text("never asked"),
    ]);
    let outcome = world.ask("go");
    outcome.exits(1).prints("");
    assert_eq!(world.bodies().len(), 3);
    let result = last_result(&world.bodies()[1]);
    assert!(
        result.contains("nosuchtool") && result.contains("terminal"),
        "{result}"
    );
    let stored = world.stored(&session_of(&outcome));
    assert_eq!(stored.len(), 7);
}

#[test]
fn truncated_call_is_requested_once_more_and_never_run() {
    let cut = || {
        ScriptedAnswer::raw_calls(vec![ScriptedCall {
            id: "c1".to_owned(),
            name: "terminal".to_owned(),
            arguments: "{\"command\":\"touch made; tru".to_owned(),
        }])
        .finish("length")
    };
    let world = World::answering([cut(), cut(), ScriptedAnswer::text("never asked")]);
    let outcome = world.ask("go");
    outcome.exits(1).prints("").says_part("nothing was run");
    assert_eq!(world.bodies().len(), 2);
    assert_eq!(world.bodies()[0]["messages"], world.bodies()[1]["messages"]);
    assert!(!world.home.user_home().join("made").exists());
    assert_eq!(world.stored(&session_of(&outcome)).len(), 1);
}

#[test]
fn calls_at_one_index_with_different_ids_are_two() {
    let chunk = |id: &str, file: &str| {
        json!({"choices": [{"index": 0, "delta": {"tool_calls": [{
            "index": 0, "id": id, "type": "function",
            "function": {"name": "terminal", "arguments": json!({"command": format!("touch {file}")}).to_string()},
        }]}}]})
        .to_string()
    };
    let end = json!({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]});
    let world = World::answering([
        ScriptedAnswer::events(&[
            chunk("a", "one"),
            chunk("b", "two"),
            end.to_string(),
            "[DONE]".to_owned(),
        ]),
        ScriptedAnswer::text("done"),
    ]);
    world.ask("go").succeeds();
    assert!(world.home.user_home().join("one").exists());
    assert!(world.home.user_home().join("two").exists());
    assert_paired(&world.bodies()[1]);
}

#[test]
fn an_answer_that_breaks_off_is_continued() {
    let world = World::answering([
        ScriptedAnswer::pieces(&["par", "x"]).cut_after(1),
        ScriptedAnswer::text("done"),
    ]);
    let outcome = world.ask("go");
    outcome.succeeds();
    assert!(
        outcome.stdout.contains("par") && outcome.stdout.contains("done"),
        "{outcome}"
    );
    assert_eq!(world.bodies().len(), 2);
    let stored = world.stored(&session_of(&outcome));
    assert_eq!(stored.len(), 2, "{stored:?}");
}

#[test]
fn an_answer_at_its_length_limit_is_continued_and_stored_as_one() {
    let world = World::answering([
        ScriptedAnswer::text("one, ").finish("length"),
        ScriptedAnswer::text("two"),
    ]);
    let outcome = world.ask("go");
    outcome.succeeds().prints("one, two\n");
    let last = world.last_messages();
    assert_eq!(last[last.len() - 2]["content"], json!("one,"));
    let stored = world.stored(&session_of(&outcome));
    assert_eq!(stored[1]["content"], json!("one, two"));
    assert_eq!(stored.len(), 2);
}

#[test]
fn endless_answer_is_cut_at_its_limit() {
    let world = World::with(ModelServer::always(
        ScriptedAnswer::text("x").finish("length"),
    ));
    let outcome = world.ask("go");
    outcome.exits(1).prints("xxxx\n");
    assert_eq!(world.bodies().len(), 4);
}

#[test]
fn exhausted_budget_ends_with_a_summary_without_tools() {
    let world = World::with(ModelServer::start_with({
        let mut count = 0;
        move |request| {
            count += 1;
            match request.body.get("tools") {
                Some(_) => call(&format!("echo {count}")),
                None => ScriptedAnswer::text("so far"),
            }
        }
    }));
    let outcome = world
        .hermes(&["chat", "-Q", "-q", "go", "--max-turns", "2"])
        .run();
    outcome.exits(1).prints("so far\n");
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 3);
    assert!(bodies[2].get("tools").is_none());
}

#[test]
fn a_secret_in_a_command_is_run_as_it_is_and_masked_in_what_it_prints() {
    let key = format!("sk-{}", "a1B2c3D4e5".repeat(4));
    let command = format!("echo {key}; echo 'https://x/?token=abc&code=z'; printf %s {key} > kept");
    let world = World::answering([call(&command), ScriptedAnswer::text("done")]);
    world.ask("go").succeeds();
    let kept = std::fs::read_to_string(world.home.user_home().join("kept")).unwrap();
    assert_eq!(kept, key);
    let second = &world.bodies()[1];
    let calls = &second["messages"][2]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(
        serde_json::from_str::<Value>(calls.as_str().unwrap()).unwrap(),
        json!({"command": command})
    );
    let result = last_result(second);
    assert!(!result.contains(&key), "{result}");
    assert!(result.contains("https://x/?token=abc&code=z"), "{result}");
}

#[test]
fn tagged_reasoning_is_not_part_of_the_answer() {
    let world = World::answering([ScriptedAnswer::text("<think>hm</think>\nyes")]);
    world.ask("go").succeeds().prints("yes\n");
}

#[test]
fn an_empty_answer_after_tools_is_asked_about_once() {
    let world = World::answering([
        call("true"),
        ScriptedAnswer::text(""),
        ScriptedAnswer::text("done"),
    ]);
    world.ask("go").succeeds().prints("done\n");
    assert_eq!(world.bodies().len(), 3);
}

#[test]
fn only_empty_answers_fail_the_turn() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("")));
    let outcome = world.ask("go");
    outcome.exits(1).prints("").says_part("no answer");
    assert_eq!(world.stored(&session_of(&outcome)).len(), 1);
}
