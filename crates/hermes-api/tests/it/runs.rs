//! Runs: begun, followed, read again, approved, stopped.

use std::sync::Arc;

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

fn begin(world: &World, body: &Value) -> String {
    let reply = world.post("/v1/runs", body);
    assert_eq!(reply.status, 202, "{}", reply.text());
    assert_eq!(reply.json()["status"], "started");
    reply.json()["run_id"].as_str().unwrap().to_owned()
}

fn status(world: &World, run: &str) -> Value {
    world.get(&format!("/v1/runs/{run}")).json()
}

fn names(world: &World, run: &str, after: Option<&str>) -> Vec<String> {
    let headers: Vec<(&str, &str)> = after.map(|id| ("Last-Event-ID", id)).into_iter().collect();
    let reply = world.send("GET", &format!("/v1/runs/{run}/events"), &headers, b"");
    assert_eq!(reply.status, 200);
    assert!(reply.text().ends_with(": stream closed\n\n"));
    let events = reply.events().into_iter();
    let names = events.map(|(_, data)| {
        let data: Value = serde_json::from_str(&data).unwrap();
        assert_eq!(data["run_id"], run);
        data["event"].as_str().unwrap().to_owned()
    });
    let mut names: Vec<String> = names.collect();
    // A text comes in any number of pieces.
    names.dedup();
    names
}

#[test]
fn a_run_can_be_read_while_it_goes_and_again_from_any_point() {
    let script = "turns:
  - match: {step: 1}
    think: Hm.
    calls: [{tool: terminal, arguments: {command: echo found}}]
  - {match: {step: 2}, text: There it is.}";
    let world = World::playing(script);
    let run = begin(&world, &json!({"input": "look"}));
    let all = names(&world, &run, None);
    let expected = [
        "reasoning.available",
        "tool.started",
        "tool.completed",
        "message.delta",
        "run.completed",
    ];
    assert_eq!(all, expected);
    // After the end, by several readers, and from a point on.
    assert_eq!(names(&world, &run, None), expected);
    assert_eq!(names(&world, &run, Some("3")), expected[3..]);
    assert_eq!(names(&world, &run, Some("99")), [""; 0]);
    let bad = [("Last-Event-ID", "x")];
    let reply = world.send("GET", &format!("/v1/runs/{run}/events"), &bad, b"");
    assert_eq!(reply.status, 400);
    let status = status(&world, &run);
    assert_eq!(status["object"], "hermes.run");
    assert_eq!(status["status"], "completed");
    assert_eq!(status["output"], "There it is.");
    assert_eq!(status["last_event"], "run.completed");
    assert!(status["usage"]["total_tokens"].is_u64());
}

#[test]
fn the_eleventh_run_is_refused_and_a_stopped_one_makes_room() {
    let world = World::playing("turns: [{delay: 60, text: late}]");
    let runs: Vec<String> = (0..10)
        .map(|_| begin(&world, &json!({"input": "x"})))
        .collect();
    let refused = world.post("/v1/runs", &json!({"input": "x"}));
    assert_eq!(refused.status, 429);
    assert_eq!(refused.json()["error"]["code"], "rate_limit_exceeded");
    let stopped = world.post(&format!("/v1/runs/{}/stop", runs[0]), &json!({}));
    assert_eq!(stopped.json()["status"], "stopping");
    eventually("it is cancelled", || {
        status(&world, &runs[0])["status"] == "cancelled"
    });
    assert_eq!(names(&world, &runs[0], None), ["run.cancelled"]);
    let over = world.post(&format!("/v1/runs/{}/stop", runs[0]), &json!({}));
    assert_eq!(over.status, 409);
    begin(&world, &json!({"input": "x"}));
    for run in &runs[1..] {
        world.post(&format!("/v1/runs/{run}/stop"), &json!({}));
    }
}

/// A run that wants to remove a directory, outside of any sandbox.
fn asking() -> (Arc<World>, String) {
    let script = "turns:
  - match: {step: 1}
    calls: [{tool: terminal, arguments: {command: rm -rf precious}}]
  - {match: {step: 2}, text: Over.}";
    let world = World::with(script, "terminal: {sandbox: 'off'}", &[]);
    std::fs::create_dir(world.work().join("precious")).unwrap();
    let run = begin(&world, &json!({"input": "clean up"}));
    eventually("it asks", || {
        status(&world, &run)["status"] == "waiting_for_approval"
    });
    (Arc::new(world), run)
}

#[test]
fn a_risky_command_waits_for_its_approval_by_request() {
    let (world, run) = asking();
    let path = format!("/v1/runs/{run}/approval");
    assert_eq!(world.post(&path, &json!({"choice": "maybe"})).status, 400);
    let approved = world.post(&path, &json!({"choice": "approve"}));
    assert_eq!(approved.json()["resolved"], 1, "{}", approved.text());
    assert_eq!(approved.json()["choice"], "once");
    let all = names(&world, &run, None);
    assert!(all.contains(&"approval.request".to_owned()), "{all:?}");
    assert!(all.contains(&"approval.responded".to_owned()), "{all:?}");
    assert_eq!(status(&world, &run)["output"], "Over.");
    assert!(!world.work().join("precious").exists());
    let late = world.post(&path, &json!({"choice": "once"}));
    assert_eq!(
        (late.status, late.json()["error"]["code"].as_str()),
        (409, Some("approval_not_pending"))
    );
}

#[test]
fn a_denied_command_is_not_run() {
    let (world, run) = asking();
    let path = format!("/v1/runs/{run}/approval");
    assert_eq!(world.post(&path, &json!({"choice": "deny"})).status, 200);
    eventually("it is over", || {
        status(&world, &run)["status"] == "completed"
    });
    assert!(world.work().join("precious").exists());
}

#[test]
fn a_stopped_run_asks_no_longer() {
    let (world, run) = asking();
    world.post(&format!("/v1/runs/{run}/stop"), &json!({}));
    eventually("it is over", || {
        status(&world, &run)["status"] == "cancelled"
    });
    assert!(world.work().join("precious").exists());
    assert_eq!(world.active(), 0);
}

#[test]
fn a_run_continues_the_session_that_it_names() {
    let script =
        "turns: [{match: {turn: 1}, text: one}, {match: {turn: 2, seen: blue}, text: two}]";
    let world = World::playing(script);
    for (text, answer) in [("blue", "one"), ("more", "two")] {
        let run = begin(&world, &json!({"input": text, "session_id": "mine"}));
        eventually("it is over", || status(&world, &run)["output"] == answer);
        assert_eq!(status(&world, &run)["session_id"], "mine");
    }
    let run = begin(
        &world,
        &json!({"input": "x", "conversation_history": [
        {"role": "user", "content": "blue"}, {"role": "assistant", "content": "ok"}]}),
    );
    eventually("it is over", || status(&world, &run)["output"] == "two");
}
