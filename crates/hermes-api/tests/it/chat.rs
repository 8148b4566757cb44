//! Chat completions: plain, streamed, continued, interrupted, repeated.

use std::io::BufReader;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hermes_testkit::eventually;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::client::{read_chunk, read_head};
use crate::world::World;

const PATH: &str = "/v1/chat/completions";

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn asking(text: &str) -> Value {
    json!({"messages": [user(text)]})
}

fn content(reply: &crate::client::Reply) -> String {
    let body = reply.json();
    let text = body["choices"][0]["message"]["content"].as_str();
    text.unwrap_or_else(|| panic!("{body}")).to_owned()
}

#[test]
fn an_answer_has_the_shape_that_clients_know() {
    let script = "turns: [{text: Good day., usage: {input: 11, output: 7, cache_read: 3}}]";
    let world = World::playing(script);
    let reply = world.post(PATH, &json!({"model": "any", "messages": [user("hello")]}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    let body = reply.json();
    assert_eq!(body["object"], "chat.completion");
    assert_eq!(body["model"], "any");
    assert!(body["id"].as_str().unwrap().starts_with("chatcmpl-"));
    assert_eq!(
        body["choices"][0]["message"],
        json!({"role": "assistant", "content": "Good day."})
    );
    assert_eq!(body["choices"][0]["finish_reason"], "stop");
    assert_eq!(body["usage"]["prompt_tokens"], 14);
    assert_eq!(body["usage"]["completion_tokens"], 7);
    assert_eq!(body["usage"]["total_tokens"], 21);
    assert!(body.get("hermes").is_none());
    let session = reply.header("x-hermes-session-id").unwrap();
    assert!(
        session.starts_with("api-") && session.len() == 20,
        "{session}"
    );
}

#[test]
fn a_stream_has_a_role_the_progress_of_tools_text_usage_and_an_end() {
    let script = "turns:
  - match: {step: 1}
    text: I look.
    calls: [{tool: terminal, arguments: {command: echo found}}]
  - match: {step: 2}
    text: There it is.
    usage: {input: 5, output: 2}";
    let world = World::playing(script);
    let reply = world.post(PATH, &json!({"stream": true, "messages": [user("look")]}));
    assert_eq!(reply.status, 200, "{}", reply.text());
    assert_eq!(reply.header("content-type"), Some("text/event-stream"));
    assert_eq!(reply.header("x-content-type-options"), Some("nosniff"));
    let events = reply.events();
    assert_eq!(events.last().unwrap().1, "[DONE]");
    let data: Vec<(String, Value)> = events[..events.len() - 1]
        .iter()
        .map(|(name, data)| (name.clone(), serde_json::from_str(data).unwrap()))
        .collect();
    assert_eq!(data[0].1["choices"][0]["delta"]["role"], "assistant");
    let progress: Vec<&Value> = data
        .iter()
        .filter(|(name, _)| name == "hermes.tool.progress")
        .map(|(_, data)| data)
        .collect();
    assert_eq!(progress.len(), 2);
    assert_eq!(progress[0]["tool"], "terminal");
    assert_eq!(progress[0]["label"], "echo found");
    assert_eq!(
        (&progress[0]["status"], &progress[1]["status"]),
        (&json!("running"), &json!("completed"))
    );
    assert_eq!(progress[0]["toolCallId"], progress[1]["toolCallId"]);
    let text: String = data
        .iter()
        .filter_map(|(_, chunk)| chunk["choices"][0]["delta"]["content"].as_str())
        .collect();
    assert_eq!(text, "I look.There it is.");
    let last = &data.last().unwrap().1;
    assert_eq!(last["choices"][0]["finish_reason"], "stop");
    assert!(last["usage"]["total_tokens"].as_u64().unwrap() > 0);
}

#[test]
fn a_client_that_sends_its_history_keeps_its_session_and_can_edit_it() {
    let script = "turns:
  - {match: {user: first, turn: 1}, text: one}
  - {match: {user: second, turn: 2, seen: one}, text: two}
  - {match: {user: other, turn: 2, unseen: two}, text: three}";
    let world = World::playing(script);
    let first = world.post(PATH, &asking("first"));
    assert_eq!(content(&first), "one");
    let session = first.header("x-hermes-session-id").unwrap().to_owned();
    let answer = json!({"role": "assistant", "content": "one"});
    let second = world.post(
        PATH,
        &json!({"messages": [user("first"), answer, user("second")]}),
    );
    assert_eq!(content(&second), "two");
    assert_eq!(second.header("x-hermes-session-id"), Some(session.as_str()));
    // The second message is edited: its turn is undone.
    let edited = world.post(
        PATH,
        &json!({"messages": [user("first"), answer, user("other")]}),
    );
    assert_eq!(content(&edited), "three");
    let messages = world
        .get(&format!("/api/sessions/{session}/messages"))
        .json();
    let texts: Vec<&str> = messages["data"]
        .as_array()
        .unwrap()
        .iter()
        .map(|message| message["content"].as_str().unwrap())
        .collect();
    assert_eq!(texts, ["first", "one", "other", "three"]);
}

#[test]
fn a_named_session_goes_on_after_a_restart_of_the_server() {
    let script = "turns:
  - {match: {turn: 1}, text: I remember.}
  - {match: {turn: 2, seen: blue}, text: It was blue.}";
    let mut world = World::playing(script);
    let named = [
        ("X-Hermes-Session-Id", "mine"),
        ("X-Hermes-Session-Key", "k"),
    ];
    let first = world.post_with(PATH, &named, &asking("the colour is blue"));
    assert_eq!(content(&first), "I remember.");
    assert_eq!(first.header("x-hermes-session-id"), Some("mine"));
    assert_eq!(first.header("x-hermes-session-key"), Some("k"));
    world.restart();
    // The history in the body does not count.
    let again = json!({"messages": [user("nonsense"), user("which colour?")]});
    assert_eq!(
        content(&world.post_with(PATH, &named, &again)),
        "It was blue."
    );
    for bad in ["../x", "a/b", "a\\b", &"x".repeat(300)] {
        let reply = world.post_with(PATH, &[("X-Hermes-Session-Id", bad)], &asking("x"));
        assert_eq!(reply.status, 400, "{bad}");
        assert_eq!(reply.json()["error"]["code"], "invalid_session_id");
    }
}

#[test]
fn the_system_message_reaches_the_model_and_is_not_stored() {
    let script =
        "turns: [{match: {seen: speak like a pirate}, text: Arr.}, {match: hi, text: Hello.}]";
    let world = World::playing(script);
    let system = json!({"role": "system", "content": "speak like a pirate"});
    let reply = world.post(PATH, &json!({"messages": [system, user("hi")]}));
    assert_eq!(content(&reply), "Arr.");
    let named = reply.header("x-hermes-session-id").unwrap().to_owned();
    let again = world.post_with(PATH, &[("X-Hermes-Session-Id", &named)], &asking("hi"));
    assert_eq!(content(&again), "Hello.");
}

#[test]
fn a_killed_client_stops_its_turn() {
    for stream in [true, false] {
        let script = "turns: [{match: {step: 1}, text: wait, calls: [{tool: terminal, arguments: {command: sleep 60}}]}, {match: {step: 2}, text: late}]";
        let world = World::playing(script);
        let body = json!({"stream": stream, "messages": [user("go")]});
        let connection = world.begin("POST", PATH, &body);
        if stream {
            let mut reader = BufReader::new(connection.stream.try_clone().unwrap());
            assert_eq!(read_head(&mut reader).0, 200);
            let mut seen = String::new();
            while !seen.contains("hermes.tool.progress") {
                seen.push_str(&String::from_utf8(read_chunk(&mut reader).unwrap()).unwrap());
            }
        } else {
            eventually("the turn begins", || world.active() == 1);
        }
        drop(connection);
        let gone = Instant::now();
        eventually("the turn ends", || world.active() == 0);
        assert!(
            gone.elapsed() < Duration::from_secs(2),
            "{:?}",
            gone.elapsed()
        );
    }
}

#[test]
fn the_same_request_with_one_key_is_done_once() {
    let script = "turns: [{match: hello, delay: 0.5, text: once}, {match: another, text: twice}]";
    let world = Arc::new(World::playing(script));
    let keyed = [("Idempotency-Key", "k1")];
    let bodies: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let world = Arc::clone(&world);
                scope.spawn(move || world.post_with(PATH, &keyed, &asking("hello")).text())
            })
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(bodies[0], bodies[1]);
    assert!(bodies[0].contains("once"));
    assert_eq!(
        world.post_with(PATH, &keyed, &asking("hello")).text(),
        bodies[0]
    );
    let metrics = world.get("/metrics").text();
    assert!(
        metrics.contains("hermes_api_turns_total{outcome=\"completed\"} 1\n"),
        "{metrics}"
    );
    // The same key for something else is something else.
    let other = world.post_with(PATH, &keyed, &asking("another"));
    assert_eq!(content(&other), "twice");
}

#[test]
fn turns_of_one_session_wait_for_each_other_and_too_many_turns_are_refused() {
    let script = "turns: [{match: go, delay: 0.4, text: done}]";
    let settings = "gateway: {api_server: {max_concurrent_runs: 2}}";
    let world = Arc::new(World::with(script, settings, &[]));
    let send = |session: &str| {
        let named = [("X-Hermes-Session-Id", session)];
        world.post_with(PATH, &named, &asking("go")).status
    };
    let began = Instant::now();
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(|| send("same"))).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_eq!(statuses, [200; 3]);
    assert!(
        began.elapsed() >= Duration::from_millis(1_200),
        "one after the other"
    );
    let mut statuses: Vec<u16> = std::thread::scope(|scope| {
        let threads: Vec<_> = ["a", "b", "c", "d"]
            .into_iter()
            .map(|session| scope.spawn(move || send(session)))
            .collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 200, 429, 429]);
}

#[test]
fn clients_that_begin_alike_do_not_wait_for_each_other() {
    let world = Arc::new(World::playing("turns: [{delay: 1, text: done}]"));
    let began = Instant::now();
    let sessions: Vec<String> = std::thread::scope(|scope| {
        let send = || {
            let reply = world.post(PATH, &asking("hello"));
            assert_eq!(reply.status, 200);
            reply.header("x-hermes-session-id").unwrap().to_owned()
        };
        let threads: Vec<_> = (0..3).map(|_| scope.spawn(send)).collect();
        threads.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert!(
        began.elapsed() < Duration::from_millis(2_900),
        "{:?}",
        began.elapsed()
    );
    assert!(sessions[0] != sessions[1] && sessions[1] != sessions[2] && sessions[0] != sessions[2]);
}

#[test]
fn a_model_that_fails_is_an_error_and_not_an_answer() {
    let script = "turns: [{error: {class: auth, message: no such key, status: 401}}]";
    let world = World::playing(script);
    let reply = world.post(PATH, &asking("hello"));
    assert_eq!(reply.status, 502, "{}", reply.text());
    assert_eq!(reply.json()["error"]["code"], "agent_incomplete");
    assert_eq!(reply.header("x-hermes-completed"), Some("false"));
    let reply = world.post(PATH, &json!({"stream": true, "messages": [user("hi")]}));
    let events = reply.events();
    let last: Value = serde_json::from_str(&events[events.len() - 2].1).unwrap();
    assert_eq!(last["choices"][0]["finish_reason"], "error");
    assert_eq!(last["hermes"]["failed"], true);
}

#[test]
fn settings_that_cannot_work_are_named() {
    let world = World::with("turns: [{text: hi}]", "", &[]);
    std::fs::write(world.home().join("script.yaml"), "turns: 7").unwrap();
    for stream in [false, true] {
        let reply = world.post(PATH, &json!({"stream": stream, "messages": [user("hi")]}));
        assert_eq!(reply.status, 500, "{}", reply.text());
        let message = reply.json()["error"]["message"].to_string();
        assert!(message.contains("script"), "{message}");
    }
}
