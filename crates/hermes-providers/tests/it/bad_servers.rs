//! Servers that are no model servers, or not good ones. One clear line each, and no panic.

use hermes_providers::{ErrorClass, FinishReason};
use hermes_testkit::{ModelServer, ScriptedAnswer, ScriptedCall};
use pretty_assertions::assert_eq;
use serde_json::json;

use crate::bench::{Bench, ask, question};

/// One try only.
const ONCE: &str = "agent: {api_max_retries: 1}\n";

#[test]
fn html_is_told_by_its_title() {
    let page = "<html><head><title>Sign in</title></head><body>x</body></html>";
    let server = ModelServer::always(ScriptedAnswer::html(200, page));
    let provider = Bench::custom(&server.base_url(), ONCE).open();
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Malformed);
    assert_eq!(
        error.to_string(),
        "custom sent an invalid answer: the answer is an HTML page titled \"Sign in\""
    );
    assert!(error.hint().unwrap().contains("model.base_url"));
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn invalid_answers_are_reported_in_one_line() {
    for body in [
        "hello".to_owned(),
        "{}".to_owned(),
        "[]".to_owned(),
        "{\"choices\": 3}".to_owned(),
        "{\"choices\": [{\"message\": \"x\"}]}".to_owned(),
        "data: nope\n\ndata: {\"choices\": {}}\n\ndata: [DONE]\n\n".to_owned(),
        "\u{0}\u{1}\u{2}".to_owned(),
        "[".repeat(100_000),
    ] {
        let server = ModelServer::always(ScriptedAnswer::raw(
            200,
            "application/json",
            body.as_bytes(),
        ));
        let provider = Bench::custom(&server.base_url(), ONCE).open();
        let error = ask(&*provider, &question("hi")).unwrap_err();
        let shown: String = body.chars().take(30).collect();
        assert!(
            matches!(error.class, ErrorClass::Malformed | ErrorClass::Timeout),
            "{shown}: {error}"
        );
        assert!(!error.to_string().contains('\n'));
    }
}

#[test]
fn odd_usage_is_no_usage() {
    let chunk = r#"{"choices":[{"delta":{"content":"ok"},"finish_reason":"stop"}],"usage":{"prompt_tokens":NaN,"completion_tokens":-3,"x":Infinity}}"#;
    let server = ModelServer::always(ScriptedAnswer::events(&[chunk, "[DONE]"]));
    let provider = Bench::custom(&server.base_url(), ONCE).open();
    let response = ask(&*provider, &question("hi")).unwrap();
    assert_eq!((response.text.as_str(), response.usage), ("ok", None));
}

#[test]
fn ten_megabytes_of_arguments_are_cut_off() {
    let call = ScriptedCall {
        id: "c1".to_owned(),
        name: "write_file".to_owned(),
        arguments: json!({"content": "x".repeat(10 << 20)}).to_string(),
    };
    let server = ModelServer::always(ScriptedAnswer::raw_calls(vec![call]));
    let provider = Bench::custom(&server.base_url(), ONCE).open();
    let response = ask(&*provider, &question("hi")).unwrap();
    assert_eq!(response.finish, FinishReason::Length);
    assert!(response.tool_calls[0].arguments.len() < 100);
}

#[test]
fn a_key_that_the_server_echoes_is_masked() {
    let key = "sk-canary-0123456789abcdef";
    let echo = json!({"error": {"message": format!("Incorrect API key provided: {key}")}});
    let server = ModelServer::always(ScriptedAnswer::status(401, &echo));
    let provider = Bench::custom(&server.base_url(), &format!("  api_key: {key}\n")).open();
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Auth);
    let all = format!("{error} {error:?} {:?}", error.hint());
    assert!(!all.contains("canary"), "{all}");
    assert_eq!(server.questions().len(), 1);
}

#[test]
fn unreachable_server_is_a_timeout_error() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    // The chain reconnects once, a few seconds later, before it gives up.
    let provider = Bench::custom(&format!("http://{address}/v1"), ONCE).open();
    let error = ask(&*provider, &question("hi")).unwrap_err();
    assert_eq!(error.class, ErrorClass::Timeout);
    let named = format!("custom could not be reached at http://{address}: no connection");
    assert!(error.to_string().starts_with(&named), "{error}");
    assert_eq!(error.attempts, 2);
}

#[test]
fn a_redirect_to_another_host_is_not_followed() {
    let elsewhere = ModelServer::always(ScriptedAnswer::text("stolen"));
    let to = format!(
        "{}/chat/completions",
        elsewhere.base_url().replace("127.0.0.1", "localhost")
    );
    let server =
        ModelServer::always(ScriptedAnswer::raw(307, "text/plain", b"").header("location", &to));
    let bench = Bench::custom(
        &server.base_url(),
        "  api_key: sk-canary-0123456789\nagent: {api_max_retries: 1}\n",
    );
    let error = ask(&*bench.open(), &question("hi")).unwrap_err();
    assert!(error.to_string().contains("was not configured"), "{error}");
    assert_eq!(elsewhere.received().len(), 0);
    let back = format!("{}/chat/completions", server.base_url());
    let mut first = true;
    let round = ModelServer::start_with(move |_| {
        if std::mem::take(&mut first) {
            ScriptedAnswer::raw(307, "text/plain", b"").header("location", "/v2/chat/completions")
        } else {
            ScriptedAnswer::text("same house")
        }
    });
    assert!(!back.is_empty());
    let provider = Bench::custom(&round.base_url(), "").open();
    assert_eq!(ask(&*provider, &question("hi")).unwrap().text, "same house");
    assert_eq!(round.questions()[1].path, "/v2/chat/completions");
}
