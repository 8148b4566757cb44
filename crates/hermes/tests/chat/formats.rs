//! Anthropic's format and that of responses, as the program sends them through a conversation with
//! calls.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::world::{World, session_of};

/// Two calls at once, an answer, and a second turn of the same session; gives the session.
fn conversation(world: &World) -> String {
    let outcome = world.ask("first");
    outcome.succeeds().prints("one\n");
    let session = session_of(&outcome);
    let next = world
        .hermes(&["chat", "-Q", "-q", "second", "-r", &session])
        .run();
    next.succeeds().prints("two\n");
    session
}

fn server() -> ModelServer {
    ModelServer::start([
        ScriptedAnswer::calls(&[
            ("terminal", json!({"command": "echo alpha"})),
            ("terminal", json!({"command": "echo omega"})),
        ])
        .thinking("let me see"),
        ScriptedAnswer::text("one"),
        ScriptedAnswer::text("two"),
    ])
}

/// Parts of a message, whichever way it is written.
fn parts(message: &Value) -> Vec<Value> {
    match &message["content"] {
        Value::Array(parts) => parts.clone(),
        other => vec![json!({"type": "text", "text": other})],
    }
}

fn is_marked(message: &Value) -> bool {
    parts(message)
        .iter()
        .any(|part| !part["cache_control"].is_null())
}

#[test]
fn anthropic_gets_a_system_prompt_apart_merged_results_a_cap_and_marks() {
    let world = World::with(server());
    world.home.put(
        "config.yaml",
        format!(
            "model: {{provider: custom, default: claude-opus-4.6, base_url: '{}', \
             api_mode: anthropic_messages, api_key: key-12345678, context_length: 200000}}\n",
            world.server.root()
        ),
    );
    conversation(&world);
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 3);
    for body in &bodies {
        assert!(
            body["max_tokens"].as_u64().is_some_and(|most| most > 0),
            "{body}"
        );
        let system = body["system"].as_array().unwrap();
        assert!(!system.last().unwrap()["cache_control"].is_null());
        assert_eq!(body["system"], bodies[0]["system"]);
        assert_eq!(body["tools"].to_string(), bodies[0]["tools"].to_string());
        let messages = body["messages"].as_array().unwrap();
        let roles: Vec<&str> = messages
            .iter()
            .map(|m| m["role"].as_str().unwrap())
            .collect();
        let alternating = roles.windows(2).all(|pair| pair[0] != pair[1]);
        assert!(
            alternating && roles.iter().all(|role| *role != "system"),
            "{roles:?}"
        );
        // The last three are marked, and nothing before them.
        let marked: Vec<bool> = messages.iter().map(is_marked).collect();
        let unmarked = messages.len().saturating_sub(3);
        let wanted: Vec<bool> = (0..messages.len()).map(|at| at >= unmarked).collect();
        assert_eq!(marked, wanted);
        // Signatures are checked by whoever signed; this server is somebody else.
        assert!(!body.to_string().contains("\"signature\""));
    }
    let last = bodies[2]["messages"].as_array().unwrap();
    assert_eq!(last.len(), 5);
    let results = parts(&last[2]);
    let kinds: Vec<&Value> = results.iter().map(|part| &part["type"]).collect();
    assert_eq!(kinds, ["tool_result", "tool_result"]);
    let calls: Vec<Value> = parts(&last[1])
        .into_iter()
        .filter(|part| part["type"] == "tool_use")
        .collect();
    for (call, result) in calls.iter().zip(&results) {
        assert_eq!(call["id"], result["tool_use_id"]);
    }
    assert!(results[0].to_string().contains("alpha"));
    assert!(results[1].to_string().contains("omega"));
}

#[test]
fn responses_get_pairs_by_call_id_and_the_session_as_their_cache_key() {
    let world = World::with(server());
    world.configure("context_length: 200000\n  api_mode: codex_responses", "");
    let session = conversation(&world);
    let bodies = world.bodies();
    assert_eq!(bodies.len(), 3);
    for body in &bodies {
        assert_eq!(body["store"], false);
        assert_eq!(body["stream"], true);
        assert_eq!(body["prompt_cache_key"], session.as_str());
        assert_eq!(body["instructions"], bodies[0]["instructions"]);
        assert_eq!(body["tools"].to_string(), bodies[0]["tools"].to_string());
        let input = body["input"].as_array().unwrap();
        let of = |kind: &str| -> Vec<Value> {
            let items = input.iter().filter(|item| item["type"] == kind);
            items.map(|item| item["call_id"].clone()).collect()
        };
        assert_eq!(of("function_call"), of("function_call_output"));
        assert!(input.iter().all(|item| item["role"] != "system"));
    }
    let last = bodies[2]["input"].to_string();
    assert!(last.contains("alpha") && last.contains("omega"), "{last}");
    let kinds: Vec<&str> = bodies[2]["input"]
        .as_array()
        .unwrap()
        .iter()
        .map(|item| item["type"].as_str().or(item["role"].as_str()).unwrap())
        .collect();
    let (call, output) = ("function_call", "function_call_output");
    assert_eq!(
        kinds,
        [
            "user",
            "reasoning",
            call,
            call,
            output,
            output,
            "assistant",
            "user"
        ]
    );
}
