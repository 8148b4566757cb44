//! Encodes requests in Anthropic's messages format.

use serde_json::{Value, json};

use super::claude;
use super::turns::{ReasoningReplay, encode_turns};
use crate::message::Role;
use crate::request::ModelRequest;
use crate::route::{Route, is_host};
use crate::server_limits::ServerLimits;
use crate::wire::cache_markers::mark_anthropic;
use crate::wire::schema::encode_tools;

/// The body of a request; `window` is the size of the model's context.
pub(crate) fn encode(
    route: &Route,
    request: &ModelRequest,
    limits: ServerLimits,
    window: u64,
) -> Value {
    let replay = reasoning_replay(route, limits);
    let mut turns = encode_turns(&request.messages, replay, limits);
    if let Some(mark) = &route.cache_marker {
        mark_anthropic(&mut turns, mark);
    }
    let mut body = json!({"model": claude::wire_name(&route.model)});
    if let Some(system) = system(route, request) {
        body["system"] = system;
    }
    body["messages"] = Value::Array(turns);
    let tools = encode_tools(
        route,
        request,
        limits,
        |tool, schema| json!({"name": tool.name, "description": tool.description, "input_schema": schema}),
    );
    if let Some(tools) = tools {
        body["tools"] = tools;
        body["tool_choice"] = json!({"type": "auto"});
    }
    let effort = request.effort.or(route.effort);
    let thinking = claude::thinking(&route.model, effort).filter(|_| !limits.no_effort);
    let mut most = request
        .max_tokens
        .or(route.max_tokens)
        .unwrap_or_else(|| claude::output_ceiling(&route.model));
    if let Some(temperature) = request.temperature
        && claude::accepts_sampling(&route.model)
    {
        body["temperature"] = json!(temperature);
    }
    if let Some(thinking) = thinking {
        most = most.max(thinking.min_tokens);
        for (key, value) in thinking.fields {
            body[key] = value;
        }
    }
    // The answer must leave room for the request.
    let below = u32::try_from(window.saturating_sub(1).max(1)).unwrap_or(u32::MAX);
    body["max_tokens"] = json!(most.min(below));
    if !limits.no_stream {
        body["stream"] = json!(true);
    }
    body
}

fn reasoning_replay(route: &Route, limits: ServerLimits) -> ReasoningReplay {
    let keeps_unsigned = ["kimi.com", "moonshot.ai", "moonshot.cn", "deepseek.com"];
    if limits.no_replay {
        ReasoningReplay::Dropped
    } else if is_host(&route.host, "api.anthropic.com") {
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
    Some(match &route.cache_marker {
        None => json!(text),
        Some(mark) => json!([{"type": "text", "text": text, "cache_control": mark}]),
    })
}
