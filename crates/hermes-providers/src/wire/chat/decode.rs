//! Decodes chat completions, streamed or whole.

use serde_json::Value;

use crate::classify::classify_body;
use crate::error::ProviderError;
use crate::response::{Cost, FinishReason};
use crate::wire::CollectedAnswer;
use crate::wire::answer::{CallPiece, MAX_TEXT};
use crate::wire::usage::{stated_cost, usage};

/// Adds one event of a stream.
pub(crate) fn decode_event(
    answer: &mut CollectedAnswer,
    data: &Value,
) -> Result<(), ProviderError> {
    if data == "[DONE]" {
        answer.ended = true;
        return Ok(());
    }
    take_frame(answer, data)?;
    // Only one choice was requested.
    if let Some(choice) = data["choices"].get(0) {
        take_choice(answer, choice, "delta");
    }
    Ok(())
}

/// Reads an answer that was not streamed.
pub(crate) fn decode_whole(
    answer: &mut CollectedAnswer,
    body: &Value,
) -> Result<(), ProviderError> {
    take_frame(answer, body)?;
    if let Some(choice) = body["choices"].get(0) {
        // Without an index, each call of the list is a separate one.
        let mut choice = choice.clone();
        let calls = choice
            .pointer_mut("/message/tool_calls")
            .and_then(Value::as_array_mut);
        for (at, call) in calls.into_iter().flatten().enumerate() {
            if let Value::Object(call) = call {
                call.insert("index".to_owned(), Value::from(at));
            }
        }
        take_choice(answer, &choice, "message");
    }
    answer.ended = true;
    Ok(())
}

fn take_frame(answer: &mut CollectedAnswer, data: &Value) -> Result<(), ProviderError> {
    if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
        return Err(classify_body(error));
    }
    if let Some(found) = usage(&data["usage"]) {
        answer.usage = Some(found);
    }
    if let Some(dollars) = stated_cost(&data["usage"]) {
        answer.cost = Cost::Stated(dollars);
    }
    if let Some(model) = data["model"].as_str() {
        answer.model = Some(model.to_owned());
    }
    Ok(())
}

fn take_choice(answer: &mut CollectedAnswer, choice: &Value, part: &str) {
    let delta = &choice[part];
    answer.begun |= delta.is_object();
    take_reasoning(answer, delta);
    answer.add_text(&content_text(&delta["content"]));
    for call in delta["tool_calls"].as_array().into_iter().flatten() {
        take_call(answer, call);
    }
    if let Some(reason) = choice["finish_reason"].as_str() {
        answer.finish = Some(match reason {
            "tool_calls" | "function_call" => FinishReason::ToolCalls,
            "length" | "max_tokens" => FinishReason::Length,
            "content_filter" => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        });
    }
}

fn take_reasoning(answer: &mut CollectedAnswer, delta: &Value) {
    let content = delta["reasoning_content"].as_str();
    let reasoning = content.or_else(|| delta["reasoning"].as_str());
    if let Some(reasoning) = reasoning.filter(|reasoning| !reasoning.is_empty()) {
        answer.reasoning_as_content |= content.is_some();
        answer.add_reasoning(reasoning);
    }
    for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
        take_detail(answer, detail);
    }
}

/// Adds a reasoning detail. Pieces of the same type and index belong together.
fn take_detail(answer: &mut CollectedAnswer, detail: &Value) {
    let same = |other: &Value| other["type"] == detail["type"] && other["index"] == detail["index"];
    let open = answer
        .reasoning
        .details
        .last_mut()
        .filter(|last| same(last));
    let Some(open) = open else {
        // A limit for servers that send endless details.
        if detail.is_object() && answer.reasoning.details.len() < 10_000 {
            answer.reasoning.details.push(detail.clone());
        }
        return;
    };
    for (key, value) in detail.as_object().into_iter().flatten() {
        let slot = &mut open[key.as_str()];
        match (slot.as_str(), value) {
            (Some(before), Value::String(more))
                if matches!(key.as_str(), "text" | "summary" | "data")
                    && before.len() + more.len() <= MAX_TEXT =>
            {
                *slot = Value::String(format!("{before}{more}"));
            }
            (_, Value::Null) => {}
            (_, value) => *slot = value.clone(),
        }
    }
}

fn take_call(answer: &mut CollectedAnswer, call: &Value) {
    let function = &call["function"];
    let arguments = match &function["arguments"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        // Some servers write the object itself.
        object => object.to_string(),
    };
    let piece = CallPiece {
        index: call["index"].as_u64(),
        id: call["id"].as_str().unwrap_or_default(),
        name: function["name"].as_str().unwrap_or_default(),
        arguments: &arguments,
        extra_content: call.get("extra_content").filter(|extra| !extra.is_null()),
        item_id: None,
    };
    answer.add_call(&piece);
}

/// Text, or the text parts of a list.
fn content_text(content: &Value) -> String {
    match content {
        Value::String(text) => text.clone(),
        Value::Array(parts) => parts
            .iter()
            .filter_map(|part| part["text"].as_str())
            .collect(),
        _ => String::new(),
    }
}

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;
