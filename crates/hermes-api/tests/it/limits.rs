//! What bounds a turn, and where it is sent.

use std::time::{Duration, Instant};

use hermes_testkit::{ModelServer, ScriptedAnswer, eventually};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/v1/chat/completions";

#[test]
fn a_turn_of_which_nothing_is_heard_is_ended() {
    let world = World::with(
        "turns: [{delay: 60, text: late}]",
        "agent: {gateway_timeout: 1}",
        &[],
    );
    let begun = Instant::now();
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    let reply = world.post(PATH, &body);
    assert_eq!(reply.status, 502, "{}", reply.text());
    let message = reply.json()["error"]["message"].to_string();
    assert!(message.contains("agent.gateway_timeout"), "{message}");
    let run = world.post("/v1/runs", &json!({"input": "x"})).json();
    let path = format!("/v1/runs/{}", run["run_id"].as_str().unwrap());
    eventually("it has failed", || {
        world.get(&path).json()["status"] == "failed"
    });
    let error = world.get(&path).json()["error"].to_string();
    assert!(error.contains("agent.gateway_timeout"), "{error}");
    assert!(begun.elapsed() < Duration::from_secs(30));
}

#[test]
fn a_call_that_takes_long_is_a_sign_of_life() {
    let script = "turns: [{match: {step: 1}, calls: [{tool: terminal, arguments: {command: sleep 2}}]}, {match: {step: 2}, text: done}]";
    let world = World::with(script, "agent: {gateway_timeout: 1}", &[]);
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(world.post(PATH, &body).status, 200);
}

/// A world whose model `far` is this server's.
fn with_far_model(server: &ModelServer) -> World {
    let settings = format!(
        "platforms: {{api_server: {{extra: {{model_routes: {{far: {{model: big, provider: custom, \
         base_url: '{}', api_key: far-key-0123456789}}}}}}}}}}",
        server.base_url()
    );
    World::with("turns: [{text: here}]", &settings, &[])
}

#[test]
fn a_model_route_has_its_own_address_and_key() {
    let server = ModelServer::always(ScriptedAnswer::text("From afar."));
    let world = with_far_model(&server);
    let models = world.get("/v1/models").text();
    assert!(
        models.contains("\"far\"") && !models.contains("far-key"),
        "{models}"
    );
    let body = json!({"model": "far", "messages": [{"role": "user", "content": "hello"}]});
    let reply = world.post(PATH, &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let content = &reply.json()["choices"][0]["message"]["content"];
    assert_eq!(content, "From afar.");
    let questions = server.questions();
    let key = questions[0].header("authorization").unwrap();
    assert!(key.contains("far-key-0123456789"), "{key}");
    assert!(questions[0].contains("big"));
    // Everybody else gets the configured model.
    let body = json!({"model": "near", "messages": [{"role": "user", "content": "hello"}]});
    let reply = world.post(PATH, &body).json();
    assert_eq!(reply["choices"][0]["message"]["content"], "here");
}

#[test]
fn pieces_of_text_that_come_close_together_are_one_event_and_none_is_lost() {
    let pieces = ["ab "; 60];
    let answer = ScriptedAnswer::pieces(&pieces).slowly(Duration::from_millis(4));
    let server = ModelServer::always(answer);
    let world = with_far_model(&server);
    let body = json!({"model": "far", "input": "hello", "stream": true});
    let reply = world.post("/v1/responses", &body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let events = reply.events().into_iter();
    let deltas: Vec<String> = events
        .filter(|(name, _)| name == "response.output_text.delta")
        .map(|(_, data)| {
            let data: Value = serde_json::from_str(&data).unwrap();
            data["delta"].as_str().unwrap().to_owned()
        })
        .collect();
    assert_eq!(deltas.concat(), pieces.concat());
    assert!(
        (2..pieces.len() / 2).contains(&deltas.len()),
        "{} events",
        deltas.len()
    );
}

#[test]
fn the_profile_may_stand_before_a_path() {
    let world = World::playing("turns: [{text: hi}]");
    assert_eq!(world.get("/p/default/v1/models").status, 200);
    let body = json!({"messages": [{"role": "user", "content": "hello"}]});
    assert_eq!(
        world.post("/p/default/v1/chat/completions", &body).status,
        200
    );
    let other = world.get("/p/other/v1/models");
    assert_eq!(other.status, 404);
    assert_eq!(other.json()["error"]["code"], "profile_not_found");
    assert_eq!(
        world.raw("GET", "/p/default/v1/models", &[], b"").status,
        401
    );
}
