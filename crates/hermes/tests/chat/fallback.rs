//! Another provider answers for one that cannot, for a turn.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

fn refused(status: u16) -> ScriptedAnswer {
    ScriptedAnswer::status(status, &json!({"error": {"message": "not here"}}))
}

/// A world whose model has a second server behind it.
fn with_second(first: ScriptedAnswer, second: ScriptedAnswer) -> (World, ModelServer) {
    let second = ModelServer::always(second);
    let world = World::with(ModelServer::always(first));
    let fallback = format!(
        "fallback_providers:\n  - {{provider: custom, model: other, base_url: '{}'}}\n\
         agent:\n  api_max_retries: 1\n",
        second.base_url()
    );
    world.configure(
        "context_length: 200000\n  api_key: key-of-the-first",
        &fallback,
    );
    (world, second)
}

#[test]
fn fallback_answers_one_turn_and_the_next_turn_starts_with_the_primary() {
    let (world, second) = with_second(refused(401), ScriptedAnswer::text("from the second"));
    let one = world.ask("hi");
    one.succeeds().prints("from the second\n");
    assert_eq!(world.bodies().len(), 1);
    assert_eq!(second.questions().len(), 1);
    let two = world.hermes(&["chat", "-Q"]).stdin("one\ntwo\n").run();
    two.succeeds().prints("from the second\nfrom the second\n");
    let asked: Vec<Value> = world.bodies();
    assert_eq!(asked.len(), 3, "the first is asked once a turn");
    assert!(
        second
            .questions()
            .iter()
            .all(|question| !question.contains("key-of-the-first"))
    );
    assert_eq!(second.questions()[0].body["model"], "other");
}

#[test]
fn refusal_of_the_fallback_does_not_mark_keys_of_the_primary() {
    let first = ModelServer::always(refused(503));
    let second = ModelServer::always(refused(402));
    let world = World::with(first);
    world.home.put(
        "config.yaml",
        format!(
            "model: {{provider: lab, default: m, context_length: 200000}}\n\
             providers: {{lab: {{url: '{}'}}}}\n\
             fallback_providers:\n  - {{provider: custom, model: other, base_url: '{}'}}\n\
             agent: {{api_max_retries: 1}}\n",
            world.server.base_url(),
            second.base_url()
        ),
    );
    for key in ["first-key-12345", "second-key-1234"] {
        let added = world.home.run(["auth", "add", "lab", "--api-key", key]);
        added.succeeds();
    }
    world.ask("hi").exits(1).prints("");
    assert_eq!((world.bodies().len(), second.questions().len()), (1, 1));
    let listed = world.home.run(["auth", "list", "--json"]).json();
    let entries = listed[0]["entries"].as_array().unwrap();
    assert_eq!(entries.len(), 2, "{listed}");
    for entry in entries {
        assert_eq!(entry["status"], "ok", "{listed}");
    }
}
