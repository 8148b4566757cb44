//! Encodes requests in the responses format. Nothing is stored at the provider: every request has
//! the whole conversation, including encrypted reasoning.

use serde_json::{Value, json};

use crate::message::{Content, ContentPart, Image, Message, Role};
use crate::request::{Effort, ModelRequest};
use crate::route::{Route, is_host};
use crate::server_limits::ServerLimits;
use crate::wire::schema::encode_tools;

/// Instructions for a request that has none, where some are needed.
const USUAL_INSTRUCTIONS: &str = "You are a helpful assistant.";

/// The body of a request.
pub(crate) fn encode(route: &Route, request: &ModelRequest, limits: ServerLimits) -> Value {
    let mut body = json!({"model": route.model});
    // The API of ChatGPT accounts insists on instructions, and has limits of its own.
    let is_chatgpt = route.provider == "openai-codex";
    if is_chatgpt || !request.system.trim().is_empty() {
        let instructions = Some(request.system.trim()).filter(|text| !text.is_empty());
        body["instructions"] = json!(instructions.map_or(USUAL_INSTRUCTIONS, |_| &request.system));
    }
    let mut input = Vec::new();
    for message in &request.messages {
        add_items(&mut input, message, limits);
    }
    body["input"] = Value::Array(input);
    let tools = encode_tools(route, request, limits, |tool, parameters| {
        json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters,
            "strict": false,
        })
    });
    if let Some(tools) = tools {
        body["tools"] = tools;
        body["tool_choice"] = json!("auto");
        body["parallel_tool_calls"] = json!(true);
    }
    body["store"] = json!(false);
    if !limits.no_stream {
        body["stream"] = json!(true);
    }
    if let Some(session) = &request.session_id {
        body["prompt_cache_key"] = json!(session);
    }
    if let Some(effort) = effort(route, request).filter(|_| !limits.no_effort) {
        body["reasoning"] = json!({"effort": effort, "summary": "auto"});
    }
    if reasons(&route.model) && !limits.no_replay {
        body["include"] = json!(["reasoning.encrypted_content"]);
    }
    let most = request.max_tokens.or(route.max_tokens);
    if let Some(most) = most.filter(|_| !is_chatgpt) {
        body["max_output_tokens"] = json!(most);
    }
    let temperature = request.temperature.filter(|_| !is_chatgpt);
    if let Some(temperature) = temperature.filter(|_| !reasons(&route.model)) {
        body["temperature"] = json!(temperature);
    }
    body
}

/// Whether a model returns reasoning.
fn reasons(model: &str) -> bool {
    let bare = model.rsplit('/').next().unwrap_or(model);
    let model = bare.to_ascii_lowercase();
    let (starts, contained) = (["o1", "o3", "o4"], ["gpt-5", "codex", "grok"]);
    starts.iter().any(|name| model.starts_with(name))
        || contained.iter().any(|name| model.contains(name))
}

fn effort(route: &Route, request: &ModelRequest) -> Option<&'static str> {
    let requested = request.effort.or(route.effort);
    // xAI models choose the effort themselves, unless told.
    let silent = !reasons(&route.model) || is_host(&route.host, "x.ai");
    match requested {
        Some(Effort::None) => None,
        Some(Effort::Minimal) => Some("low"),
        Some(effort) => Some(effort.name()),
        None if silent => None,
        None => Some(Effort::Medium.name()),
    }
}

fn add_items(input: &mut Vec<Value>, message: &Message, limits: ServerLimits) {
    let note = |image: &Image| limits.omission_note(image, message.role);
    match message.role {
        Role::System => {
            input.push(json!({"role": "developer", "content": message.content.to_text()}));
        }
        Role::User => {
            let content = parts(&message.content, &note);
            input.push(json!({"role": "user", "content": content}));
        }
        Role::Tool => {
            let output = match message.content.images() {
                0 => json!(message.content.to_text()),
                _ => parts(&message.content, &note),
            };
            input.push(json!({
                "type": "function_call_output",
                "call_id": message.tool_call_id.as_deref().unwrap_or_default(),
                "output": output,
            }));
        }
        Role::Assistant => {
            if !limits.no_replay {
                input.extend(message.reasoning.response_items.iter().map(replayed));
            }
            let text = message.content.to_text();
            if !text.trim().is_empty() {
                let content = json!([{"type": "output_text", "text": text}]);
                input.push(json!({"role": "assistant", "content": content}));
            }
            for call in &message.tool_calls {
                input.push(json!({
                    "type": "function_call",
                    "call_id": call.id,
                    "name": call.name,
                    "arguments": call.arguments,
                }));
            }
        }
    }
}

/// A reasoning item to send back, without ids: the provider has stored nothing.
fn replayed(item: &Value) -> Value {
    let mut item = item.clone();
    if let Value::Object(map) = &mut item {
        map.remove("id");
        map.remove("status");
        map.entry("summary").or_insert_with(|| json!([]));
    }
    item
}

fn parts(content: &Content, omission_note: &dyn Fn(&Image) -> Option<&'static str>) -> Value {
    let text_part = |text: &str| json!({"type": "input_text", "text": text});
    match content {
        Content::Text(text) => json!([text_part(text)]),
        Content::Parts(parts) => parts
            .iter()
            .map(|part| match part {
                ContentPart::Text(text) => text_part(text),
                ContentPart::Image(image) => match omission_note(image) {
                    Some(note) => text_part(note),
                    None => json!({"type": "input_image", "image_url": image.to_url()}),
                },
            })
            .collect(),
    }
}
