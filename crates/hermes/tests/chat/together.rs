//! Calls of one message: which run at the same time, and in which order their results come back.

use hermes_testkit::Answer;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, assert_paired};

#[test]
fn results_come_in_the_order_of_the_calls() {
    let world = World::answering([
        Answer::calls(&[
            ("read_file", json!({"path": "a"})),
            ("read_file", json!({"path": "b"})),
            ("search_files", json!({"pattern": "needle"})),
            ("write_file", json!({"path": "d", "content": "one"})),
            ("write_file", json!({"path": "./d", "content": "two"})),
            ("clarify", json!({"question": "which?"})),
            ("read_file", json!({"path": "c"})),
        ]),
        Answer::text("done"),
    ]);
    for (name, text) in [("a", "first"), ("b", "needle"), ("c", "third")] {
        std::fs::write(world.home.user_home().join(name), text).unwrap();
    }
    world.ask("go").succeeds().prints("done\n");
    let body = &world.bodies()[1];
    assert_paired(body);
    let messages: Vec<&Value> = body["messages"].as_array().unwrap().iter().collect();
    let results: Vec<&str> = messages[3..]
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(results.len(), 7);
    assert!(results[0].contains("first") && results[1].contains("needle"));
    assert!(results[6].contains("third"));
    // Two writers of one file run one after the other, in their order.
    let written = std::fs::read_to_string(world.home.user_home().join("d")).unwrap();
    assert_eq!(written, "two");
}
