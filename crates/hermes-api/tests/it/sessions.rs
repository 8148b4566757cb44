//! Sessions as resources.

use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::World;

const PATH: &str = "/api/sessions";
const SCRIPT: &str = "turns:
  - {match: {turn: 1}, text: one}
  - {match: {turn: 2}, text: two}
  - {match: {turn: 3}, text: three}";

#[test]
fn a_session_is_created_named_listed_ended_and_deleted() {
    let world = World::playing(SCRIPT);
    let created = world.post(PATH, &json!({"id": "s1", "title": "First"}));
    assert_eq!(created.status, 201, "{}", created.text());
    let session = &created.json()["session"];
    assert_eq!(
        (&session["id"], &session["title"]),
        (&json!("s1"), &json!("First"))
    );
    assert_eq!(session["source"], "api_server");
    let again = world.post(PATH, &json!({"id": "s1"}));
    assert_eq!(
        (again.status, again.json()["error"]["code"].as_str()),
        (409, Some("session_exists"))
    );
    let taken = world.post(PATH, &json!({"id": "s2", "title": "First"}));
    assert_eq!(
        (taken.status, taken.json()["error"]["code"].as_str()),
        (400, Some("invalid_title"))
    );
    assert_eq!(
        world.get(&format!("{PATH}/s2")).status,
        404,
        "nothing is left of it"
    );
    for id in ["../x", "a/b", ""] {
        let status = world.post(PATH, &json!({"id": id})).status;
        assert_eq!(status, if id.is_empty() { 201 } else { 400 }, "{id}");
    }
    let patch = |body: Value| {
        world.send(
            "PATCH",
            &format!("{PATH}/s1"),
            &[],
            body.to_string().as_bytes(),
        )
    };
    assert_eq!(
        patch(json!({"title": "Other"})).json()["session"]["title"],
        "Other"
    );
    assert_eq!(
        patch(json!({"model": "x"})).json()["error"]["code"],
        "unsupported_session_field"
    );
    let ended = patch(json!({"end_reason": "done with it"})).json();
    assert_eq!(ended["session"]["end_reason"], "done with it");
    world.post(&format!("{PATH}/s1/chat"), &json!({"message": "hello"}));
    let listed = world.get(&format!("{PATH}?limit=1")).json();
    assert_eq!(listed["data"][0]["id"], "s1");
    assert_eq!(listed["data"][0]["preview"], "hello");
    assert_eq!(
        (&listed["limit"], &listed["has_more"]),
        (&json!(1), &json!(true))
    );
    assert!(listed["data"][0].get("system_prompt").is_none());
    assert_eq!(
        world.get(&format!("{PATH}?source=cli")).json()["data"],
        json!([])
    );
    assert_eq!(
        world.send("DELETE", &format!("{PATH}/s1"), &[], b"").json()["deleted"],
        true
    );
    assert_eq!(world.get(&format!("{PATH}/s1")).status, 404);
    assert_eq!(
        world.send("DELETE", &format!("{PATH}/s1"), &[], b"").status,
        404
    );
}

#[test]
fn turns_go_on_in_a_session_and_in_its_copy() {
    let world = World::playing(SCRIPT);
    world.post(PATH, &json!({"id": "s1", "title": "Talk"}));
    let chat = |session: &str, text: &str| {
        let body = json!({"message": text});
        world.post(&format!("{PATH}/{session}/chat"), &body).json()
    };
    let first = chat("s1", "a");
    assert_eq!(
        first["message"],
        json!({"role": "assistant", "content": "one"})
    );
    assert_eq!(first["object"], "hermes.session.chat.completion");
    let fork = world.post(&format!("{PATH}/s1/fork"), &json!({"id": "s2"}));
    assert_eq!(fork.status, 201, "{}", fork.text());
    assert_eq!(fork.json()["session"]["parent_session_id"], "s1");
    assert_eq!(
        world.get(&format!("{PATH}/s1")).json()["session"]["end_reason"],
        "branched"
    );
    assert_eq!(chat("s2", "b")["message"]["content"], "two");
    assert_eq!(chat("s1", "c")["message"]["content"], "two");
    let messages = world.get(&format!("{PATH}/s2/messages")).json();
    let texts: Vec<&Value> = messages["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["content"])
        .collect();
    assert_eq!(texts, ["a", "one", "b", "two"]);
    assert_eq!(
        world
            .post(&format!("{PATH}/none/chat"), &json!({"message": "x"}))
            .status,
        404
    );
    let missing = world.post(&format!("{PATH}/s1/chat"), &json!({}));
    assert_eq!(missing.json()["error"]["code"], "missing_message");
}

#[test]
fn a_streamed_turn_tells_its_steps_in_order() {
    let script = "turns:
  - match: {step: 1}
    calls: [{tool: terminal, arguments: {command: echo found}}]
  - {match: {step: 2}, text: There it is.}";
    let world = World::playing(script);
    world.post(PATH, &json!({"id": "s1"}));
    let reply = world.post(&format!("{PATH}/s1/chat/stream"), &json!({"input": "look"}));
    let events = reply.events();
    let mut names: Vec<&str> = events.iter().map(|(name, _)| name.as_str()).collect();
    // A text comes in any number of pieces.
    names.dedup();
    assert_eq!(
        names,
        [
            "run.started",
            "message.started",
            "tool.started",
            "tool.completed",
            "assistant.delta",
            "assistant.completed",
            "run.completed",
            "done",
        ]
    );
    for (at, (_, data)) in events.iter().enumerate() {
        let data: Value = serde_json::from_str(data).unwrap();
        assert_eq!(
            (&data["seq"], &data["session_id"]),
            (&json!(at + 1), &json!("s1"))
        );
        assert!(data["ts"].is_f64() && data["run_id"].is_string());
    }
}

#[test]
fn skills_and_toolsets_are_listed() {
    let world = World::playing(SCRIPT);
    let skill = world.home().join("skills/web/fetching");
    std::fs::create_dir_all(&skill).unwrap();
    std::fs::write(
        skill.join("SKILL.md"),
        "---\nname: fetching\ndescription: Gets pages.\n---\nDo.",
    )
    .unwrap();
    let skills = world.get("/v1/skills").json();
    let wanted = json!({"name": "fetching", "description": "Gets pages.", "category": "web"});
    assert!(
        skills["data"].as_array().unwrap().contains(&wanted),
        "{skills}"
    );
    let toolsets = world.get("/v1/toolsets").json();
    let terminal = toolsets["data"].as_array().unwrap().iter();
    let mut terminal = terminal.filter(|one| one["name"] == "terminal");
    assert_eq!(terminal.next().unwrap()["enabled"], true);
}

#[test]
fn what_a_shell_knows_lasts_from_turn_to_turn() {
    let script = "turns:
  - {match: {user: go, step: 1}, calls: [{tool: terminal, arguments: {command: cd / && export MOOD=fine}}]}
  - {match: {user: where, step: 1}, calls: [{tool: terminal, arguments: {command: 'echo $PWD $MOOD'}}]}
  - {match: {last: / fine/}, text: still there}
  - {match: {user: where}, text: lost}
  - {match: {user: go}, text: gone there}";
    let world = World::playing(script);
    world.post(PATH, &json!({"id": "s1"}));
    let chat = |text: &str| {
        let reply = world.post(&format!("{PATH}/s1/chat"), &json!({"message": text}));
        reply.json()["message"]["content"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(chat("go"), "gone there");
    assert_eq!(chat("where"), "still there");
}
