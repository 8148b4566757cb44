use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn converted(params: Value, may_call_tools: bool) -> Result<ModelRequest, String> {
    request(serde_json::from_value(params).unwrap(), 100, may_call_tools)
}

fn text(text: &str) -> Value {
    json!({"role": "user", "content": {"type": "text", "text": text}})
}

#[test]
fn texts_pictures_and_calls_become_messages() {
    let params = json!({
        "systemPrompt": "be short", "maxTokens": 9_000, "temperature": 0.5,
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": "what is it?"},
                {"type": "image", "data": "AAAA", "mimeType": "image/png"},
            ]},
            {"role": "assistant", "content": [
                {"type": "tool_use", "id": "1", "name": "look", "input": {"at": 2}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "toolUseId": "1", "content": [{"type": "text", "text": "a cat"}]},
            ]},
        ],
        "tools": [{"name": "look", "inputSchema": {"type": "object"}}],
    });
    let request = converted(params, true).unwrap();
    assert_eq!(&*request.system, "be short");
    assert_eq!(
        (request.max_tokens, request.temperature),
        (Some(100), Some(0.5))
    );
    assert_eq!(request.tools[0].name, "look");
    let roles: Vec<Role> = request
        .messages
        .iter()
        .map(|message| message.role)
        .collect();
    assert_eq!(roles, [Role::User, Role::Assistant, Role::Tool]);
    assert_eq!(request.messages[0].content.images(), 1);
    assert_eq!(request.messages[1].tool_calls[0].arguments, "{\"at\":2}");
    assert_eq!(request.messages[2].name.as_deref(), Some("look"));
    assert_eq!(request.messages[2].content.to_text(), "a cat");
}

#[test]
fn requests_that_cannot_be_answered_are_refused_with_the_reason() {
    let tool = json!({"name": "a", "inputSchema": {"type": "object"}});
    let audio =
        json!({"role": "user", "content": {"type": "audio", "data": "A", "mimeType": "audio/wav"}});
    for (params, expected) in [
        (json!({"messages": [], "maxTokens": 1}), "no messages"),
        (
            json!({"messages": [text(" ")], "maxTokens": 1}),
            "no messages with content",
        ),
        (json!({"messages": [audio], "maxTokens": 1}), "Audio"),
        (
            json!({"messages": vec![text("a"); 201], "maxTokens": 1}),
            "too long",
        ),
        (
            json!({"messages": [text(&"a".repeat(9 << 20))], "maxTokens": 1}),
            "larger than 8 MiB",
        ),
        (
            json!({"messages": [text("a")], "maxTokens": 1, "tools": [tool]}),
            "not allowed",
        ),
    ] {
        let error = converted(params, false).unwrap_err();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn answers_say_why_the_model_stopped() {
    let response = |finish| ModelResponse {
        text: "secret".to_owned(),
        ..ModelResponse::new(finish)
    };
    let masked = |text: &str| text.replace("secret", "***");
    let said = result(response(FinishReason::Stop), "m".to_owned(), masked).unwrap();
    assert_eq!(
        serde_json::to_value(said).unwrap(),
        json!({"model": "m", "stopReason": "endTurn", "role": "assistant",
               "content": {"type": "text", "text": "***"}})
    );
    let cut = result(response(FinishReason::Length), "m".to_owned(), masked).unwrap();
    assert_eq!(cut.stop_reason.as_deref(), Some("maxTokens"));
    assert!(result(response(FinishReason::Truncated), "m".to_owned(), masked).is_err());
    let mut calls = ModelResponse::new(FinishReason::ToolCalls);
    calls.tool_calls = vec![ToolCall::new("1", "look", "{\"at\": 2}")];
    let called = result(calls, "m".to_owned(), masked).unwrap();
    assert_eq!(
        serde_json::to_value(called).unwrap(),
        json!({"model": "m", "stopReason": "toolUse", "role": "assistant",
               "content": {"type": "tool_use", "id": "1", "name": "look", "input": {"at": 2}}})
    );
}
