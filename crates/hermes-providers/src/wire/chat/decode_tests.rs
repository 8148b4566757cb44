use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::error::ErrorClass;
use crate::response::{ModelResponse, StreamEvent};

fn decode(chunks: &[Value]) -> (Option<ModelResponse>, Vec<StreamEvent>) {
    let mut answer = CollectedAnswer::default();
    for chunk in chunks {
        decode_event(&mut answer, chunk).unwrap();
    }
    let events = std::mem::take(&mut answer.events);
    (answer.into_response(), events)
}

fn delta(delta: Value) -> Value {
    json!({"choices": [{"index": 0, "delta": delta}]})
}

fn call(index: Value, id: &str, name: &str, arguments: &str) -> Value {
    let function = json!({"name": name, "arguments": arguments});
    delta(json!({"tool_calls": [{"index": index, "id": id, "function": function}]}))
}

fn names_and_arguments(response: &ModelResponse) -> Vec<(&str, &str)> {
    let calls = response.tool_calls.iter();
    calls
        .map(|call| (call.name.as_str(), call.arguments.as_str()))
        .collect()
}

#[test]
fn pieces_become_a_response() {
    let (response, events) = decode(&[
        delta(json!({"role": "assistant", "reasoning_content": "hm"})),
        delta(json!({"content": "Hel"})),
        delta(json!({"content": "lo"})),
        json!({"choices": [{"delta": {}, "finish_reason": "stop"}]}),
        json!({"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}, "model": "m"}),
        json!("[DONE]"),
    ]);
    let response = response.unwrap();
    assert_eq!(response.text, "Hello");
    assert_eq!(response.finish, FinishReason::Stop);
    assert_eq!(response.reasoning.content.as_deref(), Some("hm"));
    assert_eq!(response.usage.unwrap().input, 5);
    assert_eq!(response.model.as_deref(), Some("m"));
    assert_eq!(
        events,
        [
            StreamEvent::Reasoning("hm".to_owned()),
            StreamEvent::Text("Hel".to_owned()),
            StreamEvent::Text("lo".to_owned()),
        ]
    );
}

#[test]
fn another_id_at_the_same_index_is_another_call() {
    let (response, _) = decode(&[
        call(json!(0), "a", "terminal", "{\"command\":"),
        call(json!(0), "", "", "\"ls\"}"),
        call(json!(0), "b", "terminal", "{\"command\":\"id\"}"),
        call(json!(0), "", "", " "),
    ]);
    assert_eq!(
        names_and_arguments(&response.unwrap()),
        [
            ("terminal", "{\"command\":\"ls\"}"),
            ("terminal", "{\"command\":\"id\"}"),
        ]
    );
}

#[test]
fn calls_without_an_index_are_told_apart_by_id() {
    let (response, _) = decode(&[
        call(Value::Null, "a", "x", "{"),
        call(Value::Null, "", "", "}"),
        call(Value::Null, "b", "y", "{}"),
        call(Value::Null, "a", "", ""),
    ]);
    let response = response.unwrap();
    assert_eq!(names_and_arguments(&response), [("x", "{}"), ("y", "{}")]);
    assert_eq!(response.finish, FinishReason::ToolCalls);
}

#[test]
fn half_arguments_end_as_length() {
    let (response, _) = decode(&[
        call(json!(0), "a", "terminal", "{\"command\":\"tru"),
        json!({"choices": [{"delta": {}, "finish_reason": "tool_calls"}]}),
    ]);
    let response = response.unwrap();
    assert_eq!(response.finish, FinishReason::Length);
    assert_eq!(response.tool_calls.len(), 1);
}

#[test]
fn arguments_beyond_the_cap_count_as_cut_off() {
    let piece = "x".repeat(1 << 20);
    let mut chunks = vec![call(json!(0), "a", "write_file", "{\"content\": \"")];
    chunks.extend((0..10).map(|_| call(json!(0), "", "", &piece)));
    chunks.push(call(json!(0), "", "", "\"}"));
    let (response, _) = decode(&chunks);
    let response = response.unwrap();
    assert_eq!(response.finish, FinishReason::Length);
    assert!(response.tool_calls[0].arguments.len() < 100);
}

#[test]
fn text_after_a_call_is_kept_and_not_streamed() {
    let (response, events) = decode(&[
        delta(json!({"content": "a"})),
        call(json!(0), "1", "x", "{}"),
        delta(json!({"content": "b"})),
    ]);
    assert_eq!(response.unwrap().text, "ab");
    let streamed = events
        .iter()
        .filter(|event| matches!(event, StreamEvent::Text(_)));
    assert_eq!(streamed.count(), 1);
}

#[test]
fn wrong_types_are_passed_over() {
    let (response, _) = decode(&[
        json!(3),
        json!({"choices": "none"}),
        json!({"choices": [{"delta": 7}]}),
        json!({"choices": [{"delta": {"content": 12, "tool_calls": {"a": 1}, "reasoning": []}}]}),
        json!({"choices": [{"delta": {"tool_calls": [{"function": {"name": 3, "arguments": {"a": 1}}}]}}]}),
        json!({"choices": [{"delta": {"content": [{"type": "text", "text": "ok"}]}}], "usage": "NaN", "model": 4}),
    ]);
    let response = response.unwrap();
    assert_eq!(response.text, "ok");
    assert_eq!(response.usage, None);
    assert_eq!(names_and_arguments(&response), [("", "{\"a\":1}")]);
    let (nothing, _) = decode(&[json!({"object": "list"}), json!({"choices": []})]);
    assert_eq!(nothing, None);
}

#[test]
fn an_error_in_the_stream_is_an_error() {
    let chunk = json!({"error": {"code": 429, "message": "Rate limit exceeded"}, "choices": []});
    let error = decode_event(&mut CollectedAnswer::default(), &chunk).unwrap_err();
    assert_eq!(error.class, ErrorClass::RateLimit);
}

#[test]
fn details_in_pieces_are_put_together() {
    let detail = |text: &str| json!([{"type": "reasoning.text", "index": 0, "text": text}]);
    let (response, _) = decode(&[
        delta(json!({"reasoning_details": detail("a")})),
        delta(json!({"reasoning_details": detail("b")})),
        delta(
            json!({"reasoning_details": [{"type": "reasoning.text", "index": 0, "signature": "s"}]}),
        ),
        delta(
            json!({"reasoning_details": [{"type": "reasoning.encrypted", "index": 1, "data": "x"}], "content": "t"}),
        ),
    ]);
    assert_eq!(
        response.unwrap().reasoning.details,
        [
            json!({"type": "reasoning.text", "index": 0, "text": "ab", "signature": "s"}),
            json!({"type": "reasoning.encrypted", "index": 1, "data": "x"}),
        ]
    );
}

#[test]
fn an_answer_in_one_piece_is_the_same() {
    let mut answer = CollectedAnswer::default();
    let function = |name: &str| json!({"function": {"name": name, "arguments": "{}"}});
    let body = json!({
        "choices": [{
            "message": {"content": "hi", "reasoning": "hm", "tool_calls": [function("a"), function("b")]},
            "finish_reason": "tool_calls",
        }],
    });
    decode_whole(&mut answer, &body).unwrap();
    let response = answer.into_response().unwrap();
    assert_eq!(names_and_arguments(&response), [("a", "{}"), ("b", "{}")]);
    assert_ne!(response.tool_calls[0].id, response.tool_calls[1].id);
    assert_eq!(response.reasoning.text.as_deref(), Some("hm"));
    assert_eq!(response.reasoning.content, None);
}
