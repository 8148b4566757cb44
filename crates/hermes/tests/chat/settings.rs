//! Settings that are wrong, and the modes of files.

use hermes_testkit::{Answer, ModelServer};
use pretty_assertions::assert_eq;

use crate::world::World;

#[test]
fn a_window_that_is_no_number_is_told_and_found_out() {
    let world = World::with(ModelServer::always(Answer::text("done")));
    world.configure("context_length: \"256K\"", "");
    let outcome = world.ask("hi");
    outcome
        .succeeds()
        .prints("done\n")
        .says_part("context_length");
}

#[test]
fn broken_settings_stop_the_query_and_name_the_line() {
    let world = World::answering([]);
    world
        .home
        .put("config.yaml", "model:\n  default: m\n bad: [\n");
    let outcome = world.ask("hi");
    outcome.exits(1).prints("").says_part("line 3");
    assert_eq!(world.server.received().len(), 0);
    let ignored = world
        .hermes(&["chat", "-Q", "-q", "hi", "--ignore-user-config"])
        .run();
    ignored.exits(1).prints("").says_part("no model provider");
}

#[test]
fn the_store_is_closed_to_others() {
    let world = World::answering([Answer::text("done")]);
    world.ask("hi").succeeds();
    assert_eq!(world.home.mode("state.db"), 0o600);
}

#[test]
fn the_budget_follows_the_settings() {
    let server = ModelServer::start_with(|request| match request.body.get("tools") {
        Some(_) => Answer::call("terminal", &serde_json::json!({"command": "date +%N"})),
        None => Answer::text("so far"),
    });
    let world = World::configured(server, "agent:\n  max_turns: 3\n");
    world.ask("go").exits(1).prints("so far\n");
    assert_eq!(world.bodies().len(), 4);
}
