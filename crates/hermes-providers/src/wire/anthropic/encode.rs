//! Encodes requests in Anthropic's messages format.

use serde_json::{Map, Value, json};

use super::claude;
use super::turns::{ReasoningReplay, encode_turns};
use crate::message::Role;
use crate::request::{ModelRequest, ToolSchema};
use crate::route::{Route, is_host};
use crate::server_limits::ServerLimits;
use crate::wire::schema::parameters;

/// The body of a request; `window` is the size of the model's context.
pub(crate) fn encode(
    route: &Route,
    request: &ModelRequest,
    limits: ServerLimits,
    window: u64,
) -> Value {
    let native = is_host(&route.host, "api.anthropic.com");
    let mut turns = encode_turns(
        &request.messages,
        reasoning_replay(route, native, limits),
        limits,
    );
    route.cache_markers.mark_anthropic(&mut turns);
    let mut body = Map::new();
    let model = claude::wire_name(&route.model);
    body.insert("model".to_owned(), json!(model));
    if let Some(system) = system(route, request) {
        body.insert("system".to_owned(), system);
    }
    body.insert("messages".to_owned(), Value::Array(turns));
    if !request.tools.is_empty() {
        let plain = limits.plain_schemas || route.plain_schemas;
        let tools = request.tools.iter().map(|tool| encode_tool(tool, plain));
        body.insert("tools".to_owned(), tools.collect());
        body.insert("tool_choice".to_owned(), json!({"type": "auto"}));
    }
    let effort = request.effort.or(route.effort);
    let thinking = claude::thinking(&route.model, effort).filter(|_| !limits.no_effort);
    let mut most = request
        .max_tokens
        .or(route.max_tokens)
        .unwrap_or_else(|| claude::output_ceiling(&route.model));
    if let Some(temperature) = request
        .temperature
        .filter(|_| claude::accepts_sampling(&route.model))
    {
        body.insert("temperature".to_owned(), json!(temperature));
    }
    if let Some(thinking) = thinking {
        most = most.max(thinking.min_tokens);
        for (key, value) in thinking.fields {
            body.insert(key.to_owned(), value);
        }
    }
    // The answer must leave room for the request.
    let below = u32::try_from(window.saturating_sub(1).max(1)).unwrap_or(u32::MAX);
    body.insert("max_tokens".to_owned(), json!(most.min(below)));
    if !limits.no_stream {
        body.insert("stream".to_owned(), json!(true));
    }
    for (key, value) in &route.extra_body {
        body.insert(key.clone(), value.clone());
    }
    Value::Object(body)
}

fn reasoning_replay(route: &Route, native: bool, limits: ServerLimits) -> ReasoningReplay {
    let keeps_unsigned = ["kimi.com", "moonshot.ai", "moonshot.cn", "deepseek.com"];
    if limits.no_replay {
        ReasoningReplay::Dropped
    } else if native {
        ReasoningReplay::Signed
    } else if keeps_unsigned.iter().any(|host| is_host(&route.host, host)) {
        ReasoningReplay::Unsigned
    } else {
        // Other servers refuse signatures.
        ReasoningReplay::Dropped
    }
}

fn system(route: &Route, request: &ModelRequest) -> Option<Value> {
    let mut text = request.system.to_string();
    let further = request
        .messages
        .iter()
        .filter(|message| message.role == Role::System);
    for message in further {
        if !text.is_empty() {
            text.push_str("\n\n");
        }
        text.push_str(&message.content.to_text());
    }
    if text.trim().is_empty() {
        return None;
    }
    // Not every server supports blocks, so they are used only for a cache marker.
    Some(match route.cache_markers.value() {
        None => json!(text),
        Some(mark) => json!([{"type": "text", "text": text, "cache_control": mark}]),
    })
}

fn encode_tool(tool: &ToolSchema, plain: bool) -> Value {
    let schema = parameters(tool, plain);
    json!({"name": tool.name, "description": tool.description, "input_schema": schema})
}
