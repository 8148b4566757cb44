//! Responses: chained by id and by name, streamed, stored.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/v1/responses";

/// A text comes in any number of pieces.
fn dedup_deltas(names: &mut Vec<&str>) {
    names.dedup_by(|later, first| later == first && later.ends_with("delta"));
}

fn said(reply: &crate::client::Reply) -> String {
    let body = reply.json();
    let output = body["output"]
        .as_array()
        .unwrap_or_else(|| panic!("{body}"));
    let last = output.last().unwrap();
    last["content"][0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn a_response_is_stored_chained_shown_and_deleted() {
    let script = "turns:
  - {match: {turn: 1}, text: one}
  - {match: {turn: 2, seen: one}, text: two}
  - {match: {turn: 3}, text: three}";
    let world = World::playing(script);
    let first = world.post(PATH, &json!({"input": "a", "instructions": "be brief"}));
    assert_eq!((first.status, said(&first).as_str()), (200, "one"));
    let id = first.json()["id"].as_str().unwrap().to_owned();
    assert!(id.starts_with("resp_") && id.len() == 33);
    assert_eq!(first.json()["status"], "completed");
    let shown = world.get(&format!("{PATH}/{id}"));
    assert_eq!(shown.json()["output"], first.json()["output"]);
    let next = |id: &str, text: &str| {
        world.post(PATH, &json!({"input": text, "previous_response_id": id}))
    };
    let second = next(&id, "b");
    assert_eq!(said(&second), "two");
    assert_eq!(second.json()["instructions"], "be brief");
    let session =
        |reply: &crate::client::Reply| reply.header("x-hermes-session-id").unwrap().to_owned();
    assert_eq!(session(&first), session(&second));
    // From an earlier response a conversation branches off, in a session of its own.
    let branch = next(&id, "c");
    assert_eq!(said(&branch), "two");
    assert_ne!(session(&branch), session(&second));
    let deleted = world.send("DELETE", &format!("{PATH}/{id}"), &[], b"");
    assert_eq!(
        deleted.json(),
        json!({"id": id, "object": "response", "deleted": true})
    );
    assert_eq!(next(&id, "d").status, 404);
    assert_eq!(
        world
            .send("DELETE", &format!("{PATH}/{id}"), &[], b"")
            .status,
        404
    );
    let file = std::fs::metadata(world.home().join("response_store.db")).unwrap();
    assert_eq!(
        std::os::unix::fs::PermissionsExt::mode(&file.permissions()) & 0o777,
        0o600
    );
}

#[test]
fn a_named_conversation_goes_on_also_after_a_restart() {
    let script =
        "turns: [{match: {turn: 1}, text: one}, {match: {turn: 2, seen: blue}, text: two}]";
    let mut world = World::playing(script);
    let body =
        |text: &str| json!({"conversation": "talk", "input": [{"role": "user", "content": text}]});
    assert_eq!(said(&world.post(PATH, &body("blue"))), "one");
    world.restart();
    assert_eq!(said(&world.post(PATH, &body("more"))), "two");
}

#[test]
fn bodies_that_cannot_be_meant_are_refused() {
    let world = World::playing("turns: [{text: hi}]");
    let cases = [
        (json!({}), 400),
        (json!({"input": 7}), 400),
        (json!({"input": []}), 400),
        (json!({"input": " "}), 400),
        (json!({"input": [7]}), 400),
        (json!({"input": "x", "instructions": 7}), 400),
        (
            json!({"input": "x", "conversation": "a", "previous_response_id": "b"}),
            400,
        ),
        (json!({"input": "x", "conversation_history": "y"}), 400),
        (
            json!({"input": "x", "conversation_history": [{"role": "user"}]}),
            400,
        ),
        (
            json!({"input": "x", "previous_response_id": "resp_none"}),
            404,
        ),
    ];
    for (body, status) in cases {
        assert_eq!(world.post(PATH, &body).status, status, "{body}");
    }
}

#[test]
fn what_is_not_to_be_stored_is_not() {
    let world = World::playing("turns: [{text: hi}]");
    let reply = world.post(PATH, &json!({"input": "x", "store": false}));
    let id = reply.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(world.get(&format!("{PATH}/{id}")).status, 404);
}

#[test]
fn a_stream_has_gapless_numbers_and_every_item() {
    let script = "turns:
  - match: {step: 1}
    calls: [{tool: terminal, arguments: {command: echo found}}]
  - {match: {step: 2}, text: There it is.}";
    let world = World::playing(script);
    let reply = world.post(PATH, &json!({"input": "look", "stream": true}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let events: Vec<(String, Value)> = reply
        .events()
        .into_iter()
        .map(|(name, data)| (name, serde_json::from_str(&data).unwrap()))
        .collect();
    for (at, (name, data)) in events.iter().enumerate() {
        assert_eq!(data["sequence_number"], at);
        assert_eq!(data["type"], name.as_str());
    }
    let mut names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    dedup_deltas(&mut names);
    assert_eq!(
        names,
        [
            "response.created",
            "response.output_item.added",
            "response.output_item.done",
            "response.output_item.added",
            "response.output_item.done",
            "response.output_item.added",
            "response.content_part.added",
            "response.output_text.delta",
            "response.output_text.done",
            "response.content_part.done",
            "response.output_item.done",
            "response.completed",
        ]
    );
    let response = &events.last().unwrap().1["response"];
    let kinds: Vec<&str> = response["output"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["function_call", "function_call_output", "message"]);
    let output = response["output"][1]["output"][0]["text"].as_str().unwrap();
    assert!(output.contains("found"), "{output}");
    let id = response["id"].as_str().unwrap();
    assert_eq!(
        world.get(&format!("{PATH}/{id}")).json()["status"],
        "completed"
    );
}

#[test]
fn a_stream_whose_client_goes_is_stored_as_incomplete() {
    let script = "turns: [{match: {step: 1}, text: wait, calls: [{tool: terminal, arguments: {command: sleep 60}}]}, {match: {step: 2}, text: late}]";
    let world = World::playing(script);
    let connection = world.begin(
        "POST",
        PATH,
        &json!({"input": "go", "stream": true, "conversation": "c"}),
    );
    let mut reader = std::io::BufReader::new(connection.stream.try_clone().unwrap());
    assert_eq!(crate::client::read_head(&mut reader).0, 200);
    let mut seen = String::new();
    while !seen.contains("function_call") {
        let chunk = crate::client::read_chunk(&mut reader).unwrap();
        seen.push_str(&String::from_utf8(chunk).unwrap());
    }
    drop((reader, connection));
    hermes_testkit::eventually("the turn ends", || world.active() == 0);
    let created = seen
        .lines()
        .find_map(|line| line.strip_prefix("data: "))
        .unwrap();
    let created: Value = serde_json::from_str(created).unwrap();
    let id = created["response"]["id"].as_str().unwrap();
    assert_eq!(
        world.get(&format!("{PATH}/{id}")).json()["status"],
        "incomplete"
    );
}
