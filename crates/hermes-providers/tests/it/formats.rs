//! The three wire formats, from the request as it is sent to the answer as it is read.

use std::sync::Arc;

use hermes_providers::{
    Content, ContentPart, FinishReason, Image, Message, ModelRequest, Reasoning, TokenUsage,
    ToolCall, ToolSchema,
};
use hermes_testkit::{ModelServer, ScriptedAnswer};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use crate::bench::{Bench, ask, question};

fn tools() -> Arc<[ToolSchema]> {
    Arc::from([ToolSchema {
        name: "terminal".to_owned(),
        description: "Runs a command.".to_owned(),
        parameters: json!({"type": "object", "properties": {"command": {"type": "string"}}}),
    }])
}

/// A conversation with thoughts, calls and results.
fn conversation() -> ModelRequest {
    let thought = |text: &str| Reasoning {
        details: vec![json!({"type": "thinking", "thinking": text, "signature": "s"})],
        response_items: vec![
            json!({"type": "reasoning", "id": "rs_1", "encrypted_content": text, "summary": []}),
        ],
        content: Some(text.to_owned()),
        ..Reasoning::default()
    };
    let calls = [
        ToolCall::new("call.1", "terminal", "{\"command\":\"ls\"}"),
        ToolCall::new("call.2", "terminal", "{\"command\":\"id\"}"),
    ];
    let mut first = Message::assistant("");
    first.tool_calls = calls.to_vec();
    first.reasoning = thought("old");
    let mut second = Message::assistant("It is done.");
    second.reasoning = thought("new");
    let picture = Image::from_url("data:image/png;base64,AAAA");
    ModelRequest {
        tools: tools(),
        messages: vec![
            Message::user("look"),
            first,
            Message::tool_result(&calls[0], "a b"),
            Message::tool_result(&calls[1], "root"),
            second,
            Message::user(Content::Parts(vec![
                ContentPart::Text("thanks".to_owned()),
                ContentPart::Image(picture),
            ])),
            Message::user("and?"),
        ],
        ..question("")
    }
}

fn anthropic(server: &ModelServer, more: &str) -> Bench {
    Bench::new(&format!(
        "model: {{provider: custom, default: claude-opus-4.6, base_url: '{}', api_mode: anthropic_messages, api_key: key-12345678{more}}}\n",
        server.root()
    ))
}

#[test]
fn anthropic_requests_are_as_its_servers_want_them() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let provider = anthropic(&server, "").open();
    ask(&*provider, &conversation()).unwrap();
    let sent = &server.questions()[0];
    assert_eq!(sent.path, "/v1/messages");
    assert_eq!(sent.header("x-api-key"), Some("key-12345678"));
    assert_eq!(sent.header("authorization"), None);
    assert!(sent.header("anthropic-version").is_some());
    let mark = json!({"type": "ephemeral"});
    let body = &sent.body;
    assert_eq!(body["model"], "claude-opus-4-6");
    assert_eq!(body["max_tokens"], 128_000);
    assert_eq!(body["tool_choice"], json!({"type": "auto"}));
    assert_eq!(
        body["system"],
        json!([{"type": "text", "text": "You are brief.", "cache_control": mark}])
    );
    assert_eq!(
        body["tools"],
        json!([{"name": "terminal", "description": "Runs a command.", "input_schema": tools()[0].parameters}])
    );
    let result = |id: &str, text: &str| json!({"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]});
    let mut marked = result("call_2", "root");
    marked["cache_control"] = mark.clone();
    let call = |id: &str, command: &str| json!({"type": "tool_use", "id": id, "name": "terminal", "input": {"command": command}});
    assert_eq!(
        body["messages"],
        json!([
            {"role": "user", "content": [{"type": "text", "text": "look"}]},
            {"role": "assistant", "content": [call("call_1", "ls"), call("call_2", "id")]},
            {"role": "user", "content": [result("call_1", "a b"), marked]},
            {"role": "assistant", "content": [{"type": "text", "text": "It is done.", "cache_control": mark}]},
            {"role": "user", "content": [
                {"type": "text", "text": "thanks"},
                {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
                {"type": "text", "text": "and?", "cache_control": mark},
            ]},
        ])
    );
}

#[test]
fn anthropic_answers_are_read() {
    let server = ModelServer::start([
        ScriptedAnswer::call("terminal", &json!({"command": "ls"}))
            .thinking("hm")
            .saying("Let me see."),
        ScriptedAnswer::call("terminal", &json!({"command": "ls"}))
            .thinking("hm")
            .saying("Let me see.")
            .whole(),
        ScriptedAnswer::text("cut").finish("max_tokens"),
        ScriptedAnswer::text("no").finish("refusal"),
    ]);
    let provider = anthropic(&server, "").open();
    for _ in 0..2 {
        let response = ask(&*provider, &question("hi")).unwrap();
        assert_eq!(response.text, "Let me see.");
        assert_eq!(response.finish, FinishReason::ToolCalls);
        assert_eq!(
            response.tool_calls,
            [ToolCall::new(
                "call_0_terminal",
                "terminal",
                "{\"command\":\"ls\"}"
            )]
        );
        assert_eq!(response.reasoning.text.as_deref(), Some("hm"));
        assert_eq!(
            response.reasoning.details,
            [json!({"type": "thinking", "thinking": "hm", "signature": "sig-1"})]
        );
        let usage = TokenUsage {
            input: 11,
            output: 7,
            cache_read: 3,
            cache_write: 2,
            reasoning: 0,
        };
        assert_eq!(response.usage, Some(usage));
    }
    assert_eq!(
        ask(&*provider, &question("hi")).unwrap().finish,
        FinishReason::Length
    );
    assert_eq!(
        ask(&*provider, &question("hi")).unwrap().finish,
        FinishReason::ContentFilter
    );
}

#[test]
fn calls_without_results_are_not_sent_to_anthropic() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let mut unanswered = Message::assistant("Working.");
    unanswered.tool_calls = vec![ToolCall::new("gone", "terminal", "{}")];
    let stray = Message::tool_result(&ToolCall::new("never", "terminal", "{}"), "x");
    let request = ModelRequest {
        messages: vec![unanswered, stray, Message::user("go on")],
        ..question("")
    };
    ask(&*anthropic(&server, "").open(), &request).unwrap();
    let text = server.questions()[0].body["messages"].to_string();
    assert!(
        !text.contains("tool_use") && !text.contains("tool_result"),
        "{text}"
    );
    assert_eq!(server.questions()[0].body["messages"][0]["role"], "user");
}

#[test]
fn the_largest_answer_stays_below_the_window() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    let provider = anthropic(&server, ", context_length: 8000").open();
    ask(&*provider, &question("hi")).unwrap();
    assert_eq!(server.questions()[0].body["max_tokens"], 7_999);
}

fn responses(server: &ModelServer, more: &str) -> Bench {
    Bench::new(&format!(
        "model: {{provider: custom, default: gpt-5-mini, base_url: '{}', api_mode: codex_responses, api_key: key-12345678}}\n{more}",
        server.base_url()
    ))
}

#[test]
fn responses_requests_are_as_its_servers_want_them() {
    let server = ModelServer::always(ScriptedAnswer::text("ok"));
    ask(&*responses(&server, "").open(), &conversation()).unwrap();
    let sent = &server.questions()[0];
    assert_eq!(sent.path, "/v1/responses");
    assert_eq!(sent.header("authorization"), Some("Bearer key-12345678"));
    let mut body = sent.body.clone();
    let input = body["input"].take();
    let text = |text: &str| json!({"type": "input_text", "text": text});
    let call = |id: &str, arguments: &str| json!({"type": "function_call", "call_id": id, "name": "terminal", "arguments": arguments});
    let output = |id: &str, text: &str| json!({"type": "function_call_output", "call_id": id, "output": text});
    let thought =
        |text: &str| json!({"type": "reasoning", "encrypted_content": text, "summary": []});
    assert_eq!(
        input,
        json!([
            {"role": "user", "content": [text("look")]},
            thought("old"),
            call("call.1", "{\"command\":\"ls\"}"),
            call("call.2", "{\"command\":\"id\"}"),
            output("call.1", "a b"),
            output("call.2", "root"),
            thought("new"),
            {"role": "assistant", "content": [{"type": "output_text", "text": "It is done."}]},
            {"role": "user", "content": [
                text("thanks"),
                {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
            ]},
            {"role": "user", "content": [text("and?")]},
        ])
    );
    assert_eq!(
        body,
        json!({
            "model": "gpt-5-mini",
            "instructions": "You are brief.",
            "input": null,
            "tools": [{
                "type": "function", "name": "terminal", "description": "Runs a command.",
                "parameters": tools()[0].parameters, "strict": false,
            }],
            "tool_choice": "auto",
            "parallel_tool_calls": true,
            "store": false,
            "stream": true,
            "prompt_cache_key": "20260101_000000_abcdef",
            "reasoning": {"effort": "medium", "summary": "auto"},
            "include": ["reasoning.encrypted_content"],
        })
    );
}

#[test]
fn responses_answers_are_read() {
    let answer = || {
        ScriptedAnswer::call("terminal", &json!({"command": "ls"}))
            .thinking("hm")
            .saying("Let me see.")
    };
    let server = ModelServer::start([
        answer(),
        answer().whole(),
        ScriptedAnswer::text("cut").finish("max_output_tokens"),
    ]);
    let provider = responses(&server, "").open();
    for _ in 0..2 {
        let response = ask(&*provider, &question("hi")).unwrap();
        assert_eq!(response.text, "Let me see.");
        assert_eq!(response.finish, FinishReason::ToolCalls);
        assert_eq!(response.tool_calls[0].id, "call_0_terminal");
        assert_eq!(response.tool_calls[0].item_id.as_deref(), Some("fc_0"));
        assert_eq!(response.tool_calls[0].arguments, "{\"command\":\"ls\"}");
        assert_eq!(response.reasoning.text.as_deref(), Some("hm"));
        assert_eq!(response.reasoning.response_items.len(), 1);
        let usage = response.usage.unwrap();
        assert_eq!((usage.input, usage.cache_read, usage.reasoning), (7, 4, 2));
    }
    assert_eq!(
        ask(&*provider, &question("hi")).unwrap().finish,
        FinishReason::Length
    );
}

#[test]
fn refused_reasoning_is_not_sent_again() {
    let no = json!({"error": {"message": "The encrypted content could not be verified.", "code": "invalid_encrypted_content"}});
    let server = ModelServer::start([
        ScriptedAnswer::status(400, &no),
        ScriptedAnswer::text("ok"),
        ScriptedAnswer::text("ok"),
    ]);
    let provider = responses(&server, "").open();
    ask(&*provider, &conversation()).unwrap();
    ask(&*provider, &conversation()).unwrap();
    let sent: Vec<bool> = server
        .questions()
        .iter()
        .map(|question| question.body.to_string().contains("encrypted_content"))
        .collect();
    assert_eq!(sent, [true, false, false]);
}

#[test]
fn chat_requests_hold_what_the_format_has() {
    let server = ModelServer::start([ScriptedAnswer::text("ok"), ScriptedAnswer::text("ok")]);
    let bench = Bench::custom(
        &server.base_url(),
        "  max_tokens: 99\n  ollama_num_ctx: 4096\n",
    );
    let provider = bench.open();
    ask(&*provider, &conversation()).unwrap();
    let body = &server.questions()[0].body;
    assert_eq!(body["max_tokens"], 99);
    assert_eq!(body["options"], json!({"num_ctx": 4096}));
    let assistant = &body["messages"][2];
    assert_eq!(
        *assistant,
        json!({
            "role": "assistant", "content": "",
            "tool_calls": [
                {"id": "call.1", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"ls\"}"}},
                {"id": "call.2", "type": "function", "function": {"name": "terminal", "arguments": "{\"command\":\"id\"}"}},
            ],
            "reasoning_content": "old",
        })
    );
    assert_eq!(
        body["messages"][3],
        json!({"role": "tool", "content": "a b", "name": "terminal", "tool_call_id": "call.1"})
    );
    let image = &body["messages"][6]["content"][1];
    assert_eq!(
        *image,
        json!({"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}})
    );
    assert_eq!(body["tools"][0]["type"], "function");
    // The same question is the same bytes.
    ask(&*provider, &conversation()).unwrap();
    assert_eq!(server.questions()[0].raw, server.questions()[1].raw);
}

#[test]
fn images_that_are_refused_are_left_out_from_then_on() {
    let no = json!({"error": {"message": "This model does not support image input"}});
    let server = ModelServer::start([ScriptedAnswer::status(400, &no), ScriptedAnswer::text("ok")]);
    let provider = Bench::custom(&server.base_url(), "").open();
    assert!(provider.route().takes_images);
    ask(&*provider, &conversation()).unwrap();
    assert!(!provider.route().takes_images);
    let second: &Value = &server.questions()[1].body;
    assert!(!second.to_string().contains("image_url"));
    assert!(second.to_string().contains("thanks"));
}
