//! Encodes requests in the chat completions format.

use serde_json::{Map, Value, json};

use crate::message::{Content, ContentPart, Image, Message, Role};
use crate::request::{Effort, ModelRequest, ToolSchema};
use crate::route::{EffortStyle, Route};
use crate::server_limits::ServerLimits;
use crate::wire::schema::parameters;

/// Model prefixes for which OpenRouter accepts a reasoning effort.
const OPENROUTER_REASONING_MODELS: &[&str] = &[
    "deepseek/",
    "anthropic/",
    "openai/",
    "x-ai/",
    "google/gemini-2",
    "qwen/qwen3",
    "xiaomi/",
];

/// The body of a request.
pub(crate) fn encode(route: &Route, request: &ModelRequest, limits: ServerLimits) -> Value {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        let role = system_role(&route.model);
        messages.push(json!({"role": role, "content": &*request.system}));
    }
    for message in &request.messages {
        messages.push(encode_message(message, route, limits));
    }
    route.cache_markers.mark_chat(&mut messages);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(route.model));
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let plain = limits.plain_schemas || route.plain_schemas;
        let tools = request.tools.iter().map(|tool| encode_tool(tool, plain));
        body.insert("tools".to_owned(), tools.collect());
    }
    if !limits.no_stream {
        body.insert("stream".to_owned(), json!(true));
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(most) = request.max_tokens.or(route.max_tokens) {
        body.insert(max_tokens_field(&route.host).to_owned(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if !limits.no_effort {
        add_effort(&mut body, route, request.effort);
    }
    if let Some(session) = &request.session_id
        && route.is_openrouter()
    {
        body.insert("session_id".to_owned(), json!(session));
    }
    for (key, value) in &route.extra_body {
        body.insert(key.clone(), value.clone());
    }
    Value::Object(body)
}

/// Newer OpenAI models use another role for the system prompt.
fn system_role(model: &str) -> &'static str {
    if model.contains("gpt-5") || model.contains("codex") {
        "developer"
    } else {
        "system"
    }
}

fn max_tokens_field(host: &str) -> &'static str {
    let is = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    if is("openai.com") || is("openai.azure.com") || is("githubcopilot.com") {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

fn add_effort(body: &mut Map<String, Value>, route: &Route, requested: Option<Effort>) {
    let effort = requested.or(route.effort);
    match route.effort_style {
        EffortStyle::None => {}
        EffortStyle::OpenRouter => {
            let reasons = OPENROUTER_REASONING_MODELS
                .iter()
                .any(|prefix| route.model.starts_with(prefix));
            if reasons {
                let reasoning = match effort.unwrap_or(Effort::Medium) {
                    Effort::None => json!({"enabled": false}),
                    effort => json!({"enabled": true, "effort": effort.name()}),
                };
                body.insert("reasoning".to_owned(), reasoning);
            }
        }
        EffortStyle::Kimi => {
            let effort = effort.unwrap_or(Effort::Medium);
            if effort == Effort::None {
                body.insert("thinking".to_owned(), json!({"type": "disabled"}));
            } else {
                body.insert("thinking".to_owned(), json!({"type": "enabled"}));
                let name = match effort {
                    Effort::Minimal | Effort::Low => "low",
                    Effort::High | Effort::XHigh => "high",
                    Effort::None | Effort::Medium => "medium",
                };
                body.insert("reasoning_effort".to_owned(), json!(name));
            }
        }
        EffortStyle::Plain => match effort {
            // The field of Ollama.
            Some(Effort::None) => {
                body.insert("think".to_owned(), json!(false));
            }
            Some(effort) => {
                body.insert("reasoning_effort".to_owned(), json!(effort.name()));
            }
            None => {}
        },
    }
}

fn encode_message(message: &Message, route: &Route, limits: ServerLimits) -> Value {
    let role = match message.role {
        Role::System => system_role(&route.model),
        other => other.name(),
    };
    let note = |image: &Image| limits.omission_note(image, message.role);
    let mut encoded = Map::new();
    encoded.insert("role".to_owned(), json!(role));
    let content = encode_content(&message.content, &note);
    encoded.insert("content".to_owned(), content);
    if let Some(name) = message.name.as_ref().filter(|_| message.role == Role::Tool) {
        encoded.insert("name".to_owned(), json!(name));
    }
    if let Some(id) = &message.tool_call_id {
        encoded.insert("tool_call_id".to_owned(), json!(id));
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let mut value = json!({
                "id": call.id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            });
            if let Some(extra) = &call.extra_content {
                value["extra_content"] = extra.clone();
            }
            value
        });
        encoded.insert("tool_calls".to_owned(), calls.collect());
    }
    if !limits.no_replay && message.role == Role::Assistant {
        if let Some(content) = &message.reasoning.content {
            encoded.insert("reasoning_content".to_owned(), json!(content));
        }
        let details = message.reasoning.details.iter().filter(|detail| {
            // Details of other formats are skipped.
            let kind = detail["type"].as_str().unwrap_or_default();
            kind.starts_with("reasoning.")
        });
        let details: Vec<Value> = details.cloned().collect();
        if !details.is_empty() {
            encoded.insert("reasoning_details".to_owned(), Value::Array(details));
        }
    }
    Value::Object(encoded)
}

fn encode_content(
    content: &Content,
    omission_note: &dyn Fn(&Image) -> Option<&'static str>,
) -> Value {
    let parts = match content {
        Content::Text(text) => return json!(text),
        Content::Parts(parts) => parts,
    };
    let is_sent = |part: &ContentPart| matches!(part, ContentPart::Image(image) if omission_note(image).is_none());
    if !parts.iter().any(is_sent) {
        // Plain text for servers that support nothing else; each note once.
        let mut lines = vec![content.to_text()];
        for part in parts {
            if let ContentPart::Image(image) = part
                && let Some(note) = omission_note(image)
                && lines.iter().all(|line| line != note)
            {
                lines.push(note.to_owned());
            }
        }
        return json!(lines.join("\n").trim_start());
    }
    let text_part = |text: &str| json!({"type": "text", "text": text});
    parts
        .iter()
        .map(|part| match part {
            ContentPart::Text(text) => text_part(text),
            ContentPart::Image(image) => match omission_note(image) {
                Some(note) => text_part(note),
                None => json!({"type": "image_url", "image_url": {"url": image.to_url()}}),
            },
        })
        .collect()
}

fn encode_tool(tool: &ToolSchema, plain: bool) -> Value {
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters(tool, plain),
        },
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::wire::CacheMarkers;

    fn body(route: &Route) -> Value {
        let request = ModelRequest {
            session_id: Some("s1".to_owned()),
            max_tokens: Some(10),
            ..ModelRequest::new("sys", vec![Message::user("hi")])
        };
        encode(route, &request, ServerLimits::default())
    }

    #[test]
    fn openrouter_gets_session_reasoning_and_cache_markers() {
        let route = Route {
            effort_style: EffortStyle::OpenRouter,
            cache_markers: CacheMarkers::FiveMinutes,
            ..Route::at("https://openrouter.ai/api/v1", "anthropic/claude-opus-4.6")
        };
        let body = body(&route);
        assert_eq!(body["session_id"], "s1");
        assert_eq!(
            body["reasoning"],
            json!({"enabled": true, "effort": "medium"})
        );
        let mark = json!({"type": "ephemeral"});
        assert_eq!(body["messages"][0]["content"][0]["cache_control"], mark);
        assert_eq!(body["messages"][1]["content"][0]["cache_control"], mark);
        let silent = Route {
            model: "meta/llama".to_owned(),
            ..route
        };
        assert_eq!(super::tests::body(&silent)["reasoning"], Value::Null);
    }

    #[test]
    fn openai_uses_its_own_field_names() {
        let route = Route::at("https://api.openai.com/v1", "gpt-5-mini");
        let body = body(&route);
        assert_eq!(body["max_completion_tokens"], 10);
        assert_eq!(body["max_tokens"], Value::Null);
        assert_eq!(body["messages"][0]["role"], "developer");
        assert_eq!(body["session_id"], Value::Null);
    }

    #[test]
    fn reasoning_can_be_disabled() {
        let route = |style, effort| Route {
            effort_style: style,
            effort,
            ..Route::at("http://127.0.0.1:11434/v1", "qwen3")
        };
        assert_eq!(
            body(&route(EffortStyle::Plain, Some(Effort::None)))["think"],
            false
        );
        assert_eq!(
            body(&route(EffortStyle::Plain, Some(Effort::High)))["reasoning_effort"],
            "high"
        );
        assert_eq!(
            body(&route(EffortStyle::Plain, None))["reasoning_effort"],
            Value::Null
        );
        assert_eq!(
            body(&route(EffortStyle::Kimi, None))["thinking"],
            json!({"type": "enabled"})
        );
        assert_eq!(
            body(&route(EffortStyle::Kimi, Some(Effort::None)))["thinking"],
            json!({"type": "disabled"})
        );
    }
}
