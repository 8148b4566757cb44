//! Made-up events, to try hooks with.

use hermes_hooks::HookEvent;
use serde_json::{Map, Value, json};

/// The tool of made-up events, unless another is named.
const TOOL: &str = "terminal";

/// A made-up event.
pub(super) struct Sample {
    pub(super) tool: Option<(String, Value)>,
    pub(super) session: String,
    pub(super) extra: Map<String, Value>,
}

impl Sample {
    /// One of this event; `tool` instead of the usual one.
    pub(super) fn of(event: HookEvent, tool: Option<&str>) -> Self {
        let input = json!({"command": "echo hello"});
        let has_tool = event.is_of_tool() || tool.is_some();
        Self {
            tool: has_tool.then(|| (tool.unwrap_or(TOOL).to_owned(), input)),
            session: "test-session".to_owned(),
            extra: extra(event).as_object().cloned().unwrap_or_default(),
        }
    }

    /// Lays what a user has written over it: `tool_name`, `args` or `tool_input`, `session_id`, and
    /// everything else as it is.
    pub(super) fn overlay(&mut self, given: Map<String, Value>) {
        for (name, value) in given {
            match (name.as_str(), value) {
                ("tool_name", Value::String(tool)) => {
                    let input = self
                        .tool
                        .take()
                        .map_or_else(|| json!({}), |(_, input)| input);
                    self.tool = Some((tool, input));
                }
                ("args" | "tool_input", input @ Value::Object(_)) => {
                    let tool = self
                        .tool
                        .take()
                        .map_or_else(|| TOOL.to_owned(), |(tool, _)| tool);
                    self.tool = Some((tool, input));
                }
                ("session_id", Value::String(session)) => self.session = session,
                ("extra", Value::Object(more)) => self.extra.extend(more),
                (_, value) => {
                    self.extra.insert(name, value);
                }
            }
        }
    }
}

fn extra(event: HookEvent) -> Value {
    let request = json!({
        "model": "a-model",
        "platform": "cli",
        "provider": "a-provider",
        "base_url": "https://example.com/v1",
        "api_mode": "chat_completions",
        "api_call_count": 1,
    });
    let of_gateway = json!({
        "platform": "api_server",
        "user_id": "",
        "chat_id": "",
        "thread_id": "",
        "chat_type": "",
        "session_id": "test-session",
    });
    let with = |mut all: Value, more: Value| {
        if let (Some(all), Value::Object(more)) = (all.as_object_mut(), more) {
            all.extend(more);
        }
        all
    };
    match event {
        HookEvent::PreToolCall => json!({"tool_call_id": "test-call"}),
        HookEvent::PostToolCall | HookEvent::TransformToolResult => json!({
            "tool_call_id": "test-call",
            "result": "{\"output\": \"hello\"}",
            "status": "ok",
            "error_message": null,
            "duration_ms": 42,
        }),
        HookEvent::TransformTerminalOutput => json!({
            "command": "echo hello",
            "output": "hello",
            "returncode": 0,
        }),
        HookEvent::TransformLlmOutput => {
            json!({"response_text": "All done.", "model": "a-model", "platform": "cli"})
        }
        HookEvent::PreLlmCall => json!({
            "user_message": "What is the weather?",
            "conversation_history": [],
            "is_first_turn": true,
            "model": "a-model",
            "platform": "cli",
        }),
        HookEvent::PostLlmCall => json!({
            "user_message": "What is the weather?",
            "assistant_response": "Sunny.",
            "conversation_history": [],
            "model": "a-model",
            "platform": "cli",
        }),
        HookEvent::PreApiRequest => with(
            request,
            json!({
                "message_count": 4,
                "tool_count": 12,
                "approx_input_tokens": 2048,
                "max_tokens": null,
            }),
        ),
        HookEvent::PostApiRequest => with(
            request,
            json!({
                "api_duration": 1.234,
                "finish_reason": "stop",
                "response_model": "a-model",
                "usage": {"input_tokens": 2048, "output_tokens": 512},
                "assistant_content_chars": 1200,
                "assistant_tool_call_count": 0,
            }),
        ),
        HookEvent::OnSessionEnd => json!({
            "completed": true,
            "interrupted": false,
            "model": "a-model",
            "platform": "cli",
        }),
        HookEvent::SubagentStop => json!({
            "child_session_id": "test-child",
            "child_role": null,
            "child_summary": "What was asked for is done.",
            "child_status": "completed",
            "duration_ms": 1234,
            "platform": "cli",
        }),
        HookEvent::GatewayStartup => json!({"platforms": ["api_server"]}),
        HookEvent::AgentStart => with(of_gateway, json!({"message": "What is the weather?"})),
        HookEvent::AgentStep => with(of_gateway, json!({"iteration": 1})),
        HookEvent::AgentEnd => with(
            of_gateway,
            json!({"message": "What is the weather?", "response": "Sunny."}),
        ),
        HookEvent::SessionStart | HookEvent::SessionEnd | HookEvent::SessionReset => of_gateway,
        HookEvent::OnSessionStart | HookEvent::OnSessionFinalize | HookEvent::OnSessionReset => {
            json!({"model": "a-model", "platform": "cli"})
        }
    }
}
