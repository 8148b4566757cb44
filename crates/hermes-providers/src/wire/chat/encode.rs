//! Encodes requests in the chat completions format.

use serde_json::{Value, json};

use crate::message::{Content, ContentPart, Image, Message, Role};
use crate::request::{Effort, ModelRequest};
use crate::route::{EffortStyle, Route, is_host};
use crate::server_limits::ServerLimits;
use crate::wire::cache_markers::mark_chat;
use crate::wire::schema::encode_tools;

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
    if let Some(mark) = &route.cache_marker {
        mark_chat(&mut messages, mark);
    }
    let mut body = json!({"model": route.model, "messages": messages});
    let tools = encode_tools(route, request, limits, |tool, parameters| {
        let (name, description) = (&tool.name, &tool.description);
        let function = json!({"name": name, "description": description, "parameters": parameters});
        json!({"type": "function", "function": function})
    });
    if let Some(tools) = tools {
        body["tools"] = tools;
    }
    if !limits.no_stream {
        body["stream"] = json!(true);
        body["stream_options"] = json!({"include_usage": true});
    }
    if let Some(most) = request.max_tokens.or(route.max_tokens) {
        body[max_tokens_field(&route.host)] = json!(most);
    }
    if let Some(temperature) = request.temperature {
        body["temperature"] = json!(temperature);
    }
    if !limits.no_effort {
        add_effort(&mut body, route, request.effort);
    }
    if let Some(session) = &request.session_id
        && route.is_openrouter()
    {
        body["session_id"] = json!(session);
    }
    body
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
    let own = ["openai.com", "openai.azure.com", "githubcopilot.com"];
    if own.iter().any(|domain| is_host(host, domain)) {
        "max_completion_tokens"
    } else {
        "max_tokens"
    }
}

fn add_effort(body: &mut Value, route: &Route, requested: Option<Effort>) {
    let effort = requested.or(route.effort);
    let or_medium = effort.unwrap_or(Effort::Medium);
    match route.effort_style {
        EffortStyle::None => {}
        EffortStyle::OpenRouter => {
            let mut prefixes = OPENROUTER_REASONING_MODELS.iter();
            if prefixes.any(|prefix| route.model.starts_with(prefix)) {
                body["reasoning"] = match or_medium {
                    Effort::None => json!({"enabled": false}),
                    effort => json!({"enabled": true, "effort": effort.name()}),
                };
            }
        }
        EffortStyle::Kimi => {
            let name = match or_medium {
                Effort::None => {
                    body["thinking"] = json!({"type": "disabled"});
                    return;
                }
                Effort::Minimal | Effort::Low => "low",
                Effort::Medium => "medium",
                Effort::High | Effort::XHigh => "high",
            };
            body["thinking"] = json!({"type": "enabled"});
            body["reasoning_effort"] = json!(name);
        }
        EffortStyle::Plain => match effort {
            // The field of Ollama.
            Some(Effort::None) => body["think"] = json!(false),
            Some(effort) => body["reasoning_effort"] = json!(effort.name()),
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
    let content = encode_content(&message.content, &note);
    let mut encoded = json!({"role": role, "content": content});
    if let Some(name) = message.name.as_ref().filter(|_| message.role == Role::Tool) {
        encoded["name"] = json!(name);
    }
    if let Some(id) = &message.tool_call_id {
        encoded["tool_call_id"] = json!(id);
    }
    if !message.tool_calls.is_empty() {
        let calls = message.tool_calls.iter().map(|call| {
            let function = json!({"name": call.name, "arguments": call.arguments});
            let mut value = json!({"id": call.id, "type": "function", "function": function});
            if let Some(extra) = &call.extra_content {
                value["extra_content"] = extra.clone();
            }
            value
        });
        encoded["tool_calls"] = calls.collect();
    }
    if !limits.no_replay && message.role == Role::Assistant {
        if let Some(content) = &message.reasoning.content {
            encoded["reasoning_content"] = json!(content);
        }
        // Details of other formats are skipped.
        let own = |detail: &&Value| {
            let kind = detail["type"].as_str();
            kind.is_some_and(|kind| kind.starts_with("reasoning."))
        };
        let details: Vec<&Value> = message.reasoning.details.iter().filter(own).collect();
        if !details.is_empty() {
            encoded["reasoning_details"] = json!(details);
        }
    }
    encoded
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

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

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
            cache_marker: Some(json!({"type": "ephemeral"})),
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
