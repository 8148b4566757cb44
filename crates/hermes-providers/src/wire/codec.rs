//! Chooses the wire format of a route.

use serde_json::Value;

use super::{CollectedAnswer, anthropic, chat, responses};
use crate::error::ProviderError;
use crate::request::ModelRequest;
use crate::route::{ApiMode, Route};
use crate::server_limits::ServerLimits;

/// The body of a request; `window` is the size of the model's context.
pub(crate) fn encode(
    route: &Route,
    request: &ModelRequest,
    limits: ServerLimits,
    window: u64,
) -> Value {
    let mut body = match route.mode {
        ApiMode::Chat => chat::encode(route, request, limits),
        ApiMode::Responses => responses::encode(route, request, limits),
        ApiMode::Anthropic => anthropic::encode(route, request, limits, window),
    };
    for (key, value) in &route.extra_body {
        body[key] = value.clone();
    }
    body
}

/// Adds one event of a stream to an answer.
pub(crate) fn decode_event(
    mode: ApiMode,
    answer: &mut CollectedAnswer,
    name: &str,
    data: &Value,
) -> Result<(), ProviderError> {
    let kind = data["type"].as_str().unwrap_or(name);
    match mode {
        ApiMode::Chat => chat::decode_event(answer, data),
        ApiMode::Responses => responses::decode_event(answer, kind, data),
        ApiMode::Anthropic => anthropic::decode_event(answer, kind, data),
    }
}

/// Reads an answer that was not streamed.
pub(crate) fn decode_whole(
    mode: ApiMode,
    answer: &mut CollectedAnswer,
    body: &Value,
) -> Result<(), ProviderError> {
    match mode {
        ApiMode::Chat => chat::decode_whole(answer, body),
        ApiMode::Responses => responses::decode_whole(answer, body),
        ApiMode::Anthropic => anthropic::decode_whole(answer, body),
    }
}
