//! What a turn cost: as the provider says, nothing on one's own machine, and otherwise unknown, which
//! is not nothing.

use hermes_store::rusqlite::Connection;
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

/// The part of a usage report that is about money.
fn report(world: &World, answers: bool) -> (Value, Value, Value) {
    let path = world.home.path("usage.json");
    let run = world.hermes(&["-z", "go", "--usage-file", path.to_str().unwrap()]);
    let outcome = run.env("HTTP_PROXY", world.server.root()).run();
    assert_eq!(outcome.code == Some(0), answers, "{outcome}");
    let report: Value = serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap();
    let part = |key: &str| report[key].clone();
    (
        part("estimated_cost_usd"),
        part("cost_status"),
        part("cost_source"),
    )
}

/// Estimated, actual, status and source as the session has them.
type Stored = (Option<f64>, Option<f64>, Option<String>, Option<String>);

fn stored(world: &World) -> Stored {
    let state = Connection::open(world.home.path("state.db")).unwrap();
    state
        .query_row(
            "SELECT estimated_cost_usd, actual_cost_usd, cost_status, cost_source FROM sessions",
            [],
            |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)),
        )
        .unwrap()
}

#[test]
fn provider_costs_are_added_up_with_their_source() {
    let usage = |cost: f64| json!({"prompt_tokens": 5, "completion_tokens": 2, "cost": cost});
    let world = World::answering([
        ScriptedAnswer::call("terminal", &json!({"command": "true"})).usage(&usage(0.25)),
        ScriptedAnswer::text("done").usage(&usage(0.5)),
    ]);
    assert_eq!(
        report(&world, true),
        (json!(0.75), json!("actual"), json!("provider_cost_api"))
    );
    let source = Some("provider_cost_api".to_owned());
    assert_eq!(
        stored(&world),
        (Some(0.75), Some(0.75), Some("actual".to_owned()), source)
    );
}

#[test]
fn own_server_costs_nothing() {
    let world = World::answering([ScriptedAnswer::text("done")]);
    assert_eq!(
        report(&world, true),
        (json!(0.0), json!("included"), json!("none"))
    );
    assert_eq!(
        stored(&world),
        (
            Some(0.0),
            None,
            Some("included".to_owned()),
            Some("none".to_owned())
        )
    );
}

#[test]
fn unknown_price_is_not_zero() {
    let world = World::with(ModelServer::always(ScriptedAnswer::text("done")));
    // Somewhere else, as far as the program can tell.
    world.home.put(
        "config.yaml",
        "model: {default: m, provider: custom, base_url: 'http://models.example/v1', context_length: 100000}\n",
    );
    assert_eq!(
        report(&world, true),
        (Value::Null, json!("unknown"), Value::Null)
    );
    assert_eq!(
        stored(&world),
        (None, None, Some("unknown".to_owned()), None)
    );
    let refusing = World::with(ModelServer::always(ScriptedAnswer::status(401, &json!({}))));
    assert_eq!(
        report(&refusing, false),
        (Value::Null, json!("unknown"), Value::Null)
    );
}
