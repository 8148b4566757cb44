//! A request in the chat completions format.

use serde_json::{Map, Value, json};

use crate::adaptations::Adaptations;
use crate::message::{Content, Image, Message, Part, Role};
use crate::request::{Effort, Request, ToolSchema};
use crate::route::{EffortStyle, Route};
use crate::wire::schema::simplified;

/// Models that OpenRouter tells how much to think.
const OPENROUTER_THINKERS: &[&str] = &[
    "deepseek/",
    "anthropic/",
    "openai/",
    "x-ai/",
    "google/gemini-2",
    "qwen/qwen3",
    "xiaomi/",
];

/// The body of a request.
pub(crate) fn encode(route: &Route, request: &Request, adaptations: Adaptations) -> Value {
    let mut messages = Vec::with_capacity(request.messages.len() + 1);
    if !request.system.trim().is_empty() {
        let role = system_role(&route.model);
        messages.push(json!({"role": role, "content": &*request.system}));
    }
    for message in &request.messages {
        messages.push(encode_message(message, route, adaptations));
    }
    route.cache_markers.mark_chat(&mut messages);
    let mut body = Map::new();
    body.insert("model".to_owned(), json!(route.model));
    body.insert("messages".to_owned(), Value::Array(messages));
    if !request.tools.is_empty() {
        let plain = adaptations.plain_schemas || route.plain_schemas;
        let tools = request.tools.iter().map(|tool| encode_tool(tool, plain));
        body.insert("tools".to_owned(), tools.collect());
    }
    if !adaptations.no_stream {
        body.insert("stream".to_owned(), json!(true));
        body.insert("stream_options".to_owned(), json!({"include_usage": true}));
    }
    if let Some(most) = request.max_tokens.or(route.max_tokens) {
        body.insert(max_tokens_field(&route.host).to_owned(), json!(most));
    }
    if let Some(temperature) = request.temperature {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if !adaptations.no_effort {
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

/// Newer models of OpenAI know the system prompt under another name.
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

fn add_effort(body: &mut Map<String, Value>, route: &Route, wanted: Option<Effort>) {
    let effort = wanted.or(route.effort);
    match route.effort_style {
        EffortStyle::None => {}
        EffortStyle::OpenRouter => {
            let thinks = OPENROUTER_THINKERS
                .iter()
                .any(|prefix| route.model.starts_with(prefix));
            if thinks {
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
            // Ollama has its own word for it.
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

fn encode_message(message: &Message, route: &Route, adaptations: Adaptations) -> Value {
    let role = match message.role {
        Role::System => system_role(&route.model),
        other => other.name(),
    };
    let left_out = |image: &Image| adaptations.why_left_out(image, message.role);
    let mut encoded = Map::new();
    encoded.insert("role".to_owned(), json!(role));
    let content = encode_content(&message.content, &left_out);
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
    if !adaptations.no_replay && message.role == Role::Assistant {
        if let Some(content) = &message.reasoning.content {
            encoded.insert("reasoning_content".to_owned(), json!(content));
        }
        let details = message.reasoning.details.iter().filter(|detail| {
            // Those of other formats mean nothing here.
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

fn encode_content(content: &Content, left_out: &dyn Fn(&Image) -> Option<&'static str>) -> Value {
    let parts = match content {
        Content::Text(text) => return json!(text),
        Content::Parts(parts) => parts,
    };
    let is_sent = |part: &Part| matches!(part, Part::Image(image) if left_out(image).is_none());
    if !parts.iter().any(is_sent) {
        // Plain text, for servers that know nothing else; the same words need not stand there twice.
        let mut lines = vec![content.to_text()];
        for part in parts {
            if let Part::Image(image) = part
                && let Some(note) = left_out(image)
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
            Part::Text(text) => text_part(text),
            Part::Image(image) => match left_out(image) {
                Some(note) => text_part(note),
                None => json!({"type": "image_url", "image_url": {"url": image.to_url()}}),
            },
        })
        .collect()
}

fn encode_tool(tool: &ToolSchema, plain: bool) -> Value {
    let parameters = if plain {
        simplified(&tool.parameters)
    } else {
        tool.parameters.clone()
    };
    json!({
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
        },
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::wire::CacheMarkers;

    fn body(route: &Route) -> Value {
        let request = Request {
            session_id: Some("s1".to_owned()),
            max_tokens: Some(10),
            ..Request::new("sys", vec![Message::user("hi")])
        };
        encode(route, &request, Adaptations::default())
    }

    #[test]
    fn openrouter_gets_its_extras() {
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
    fn openai_has_its_own_words() {
        let route = Route::at("https://api.openai.com/v1", "gpt-5-mini");
        let body = body(&route);
        assert_eq!(body["max_completion_tokens"], 10);
        assert_eq!(body["max_tokens"], Value::Null);
        assert_eq!(body["messages"][0]["role"], "developer");
        assert_eq!(body["session_id"], Value::Null);
    }

    #[test]
    fn thinking_can_be_switched_off() {
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
