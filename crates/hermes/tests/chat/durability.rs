//! Killed at any moment: what was stored can be gone on with.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::json;
use std::time::Duration;

use crate::world::{World, assert_paired};

/// A world whose server answers `calls` times with a call and then hangs.
fn hanging_after(calls: usize) -> World {
    let mut count = 0;
    World::with(ModelServer::start_with(move |request| {
        count += 1;
        let is_resumed = request.contains("go on");
        if is_resumed {
            ScriptedAnswer::text("finished")
        } else if count <= calls {
            ScriptedAnswer::call("terminal", &json!({"command": format!("echo {count}")}))
        } else {
            ScriptedAnswer::text("never").after(Duration::from_mins(2))
        }
    }))
}

#[test]
fn session_killed_after_calls_resumes_with_complete_pairs() {
    let world = hanging_after(8);
    let mut running = world.hermes(&["chat", "-Q", "-q", "work"]).start();
    world.server.wait_for_questions(9);
    running.kill();
    let outcome = world.hermes(&["chat", "-Q", "-q", "go on", "-c"]).run();
    outcome.succeeds().prints("finished\n");
    let body = world.bodies().pop().unwrap();
    assert_paired(&body);
    let messages = body["messages"].as_array().unwrap().len();
    assert_eq!(messages, 1 + 1 + 16 + 1);
}

#[test]
fn session_killed_before_the_first_answer_keeps_the_question() {
    let world = hanging_after(0);
    let mut running = world.hermes(&["chat", "-Q", "-q", "the question"]).start();
    world.server.wait_for_questions(1);
    running.kill();
    let outcome = world.hermes(&["chat", "-Q", "-q", "go on", "-c"]).run();
    outcome.succeeds();
    let messages = world.last_messages();
    assert_eq!(messages[1]["content"], json!("the question\n\ngo on"));
}

#[test]
fn session_killed_during_a_call_stores_nothing_of_it() {
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "kill -9 $PPID; sleep 5"})),
        ScriptedAnswer::text("went on"),
    ]);
    // Whoever is the parent of the shell, the program itself is killed from outside.
    let mut running = world.hermes(&["chat", "-Q", "-q", "work"]).start();
    world.server.wait_for_questions(1);
    running.kill();
    let outcome = world.hermes(&["chat", "-Q", "-q", "again", "-c"]).run();
    outcome.succeeds().prints("went on\n");
    assert_paired(&world.bodies().pop().unwrap());
}
