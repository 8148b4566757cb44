//! Servers on this machine: what each says of its window, and what Ollama has to be told.

use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, ask, question};
use crate::windows::wait_for_window;

fn server(owner: &str, more: &[(&str, Value)]) -> ModelServer {
    let models = json!({"data": [{"id": "test-model", "owned_by": owner}, {"id": "b"}]});
    let server = ModelServer::always(ScriptedAnswer::text("ok"))
        .with("/v1/models", ScriptedAnswer::status(200, &models));
    more.iter().fold(server, |server, (path, body)| {
        server.with(path, ScriptedAnswer::status(200, body))
    })
}

/// The paths that were asked for besides the questions.
fn asides(server: &ModelServer) -> Vec<String> {
    let received = server.received().into_iter();
    received
        .map(|request| request.path)
        .filter(|path| !path.ends_with("/completions"))
        .collect()
}

#[test]
fn ollama_is_found_out_and_told_its_window() {
    let shown = json!({
        "parameters": "num_ctx 16384",
        "model_info": {"llama.context_length": 131_072},
    });
    let server = server("library", &[("/api/show", shown)]);
    let bench = Bench::custom(&server.base_url(), "");
    let provider = bench.open();
    ask(&*provider, &question("hi")).unwrap();
    wait_for_window(&*provider, 16_384);
    ask(&*provider, &question("hi")).unwrap();
    assert_eq!(
        server.questions()[1].body["options"],
        json!({"num_ctx": 16_384})
    );
    assert_eq!(asides(&server), ["/v1/models", "/api/show"]);
    // The next start knows, and says so from its first question on.
    let next = bench.open();
    assert_eq!(next.route().context_length, 16_384);
    ask(&*next, &question("hi")).unwrap();
    assert_eq!(
        server.questions()[2].body["options"],
        json!({"num_ctx": 16_384})
    );
    assert_eq!(asides(&server).len(), 2);
}

#[test]
fn ollama_with_all_calls_at_one_index_makes_two_of_them() {
    let call = |id: &str, arguments: &str| {
        let function = json!({"name": "terminal", "arguments": arguments});
        let call = json!({"index": 0, "id": id, "function": function});
        json!({"choices": [{"delta": {"tool_calls": [call]}}]}).to_string()
    };
    let server = ModelServer::start([ScriptedAnswer::events(&[
        call("a", "{\"command\":\"one\"}"),
        call("b", "{\"command\":\"two\"}"),
        "[DONE]".to_owned(),
    ])]);
    let provider = Bench::custom(&server.base_url(), "  ollama_num_ctx: 8192\n").open();
    let answer = ask(&*provider, &question("hi")).unwrap();
    let made: Vec<&str> = answer
        .tool_calls
        .iter()
        .map(|call| call.arguments.as_str())
        .collect();
    assert_eq!(made, ["{\"command\":\"one\"}", "{\"command\":\"two\"}"]);
    assert_eq!(
        server.questions()[0].body["options"],
        json!({"num_ctx": 8192})
    );
}

#[test]
fn lm_studio_and_llama_cpp_say_what_they_run_with() {
    let studio = json!({"models": [{
        "key": "test-model",
        "max_context_length": 131_072,
        "loaded_instances": [{"id": "test-model", "config": {"context_length": 8_192}}],
    }]});
    let llama = json!({"default_generation_settings": {"n_ctx": 12_288}});
    for (owner, path, body, window) in [
        ("organization_owner", "/api/v1/models", studio, 8_192),
        ("llamacpp", "/props", llama, 12_288),
    ] {
        let server = server(owner, &[(path, body)]);
        let provider = Bench::custom(&server.base_url(), "").open();
        ask(&*provider, &question("hi")).unwrap();
        wait_for_window(&*provider, window);
        ask(&*provider, &question("hi")).unwrap();
        assert_eq!(asides(&server), ["/v1/models", path]);
        assert_eq!(server.questions()[1].body.get("options"), None);
    }
}

#[test]
fn vllm_states_the_window_in_its_list_of_models() {
    let models = json!({"data": [
        {"id": "test-model", "owned_by": "vllm", "max_model_len": 24_576},
    ]});
    let server = ModelServer::always(ScriptedAnswer::text("ok"))
        .with("/v1/models", ScriptedAnswer::status(200, &models));
    let provider = Bench::custom(&server.base_url(), "").open();
    ask(&*provider, &question("hi")).unwrap();
    wait_for_window(&*provider, 24_576);
    assert_eq!(asides(&server), ["/v1/models"]);
}

#[test]
fn server_that_states_no_window_leaves_the_guess() {
    let server = server("llamacpp", &[("/props", json!({"x": 1}))]);
    let bench = Bench::custom(&server.base_url(), "");
    let provider = bench.open();
    for _ in 0..2 {
        ask(&*provider, &question("hi")).unwrap();
    }
    assert_eq!(provider.route().context_length, 256_000);
    assert!(!bench.home().join("context_length_cache.yaml").exists());
}
