//! Decodes answers in Anthropic's messages format, streamed or whole.

use serde_json::{Value, json};

use crate::classify::classify_body;
use crate::error::ProviderError;
use crate::response::FinishReason;
use crate::wire::answer::{CallPiece, append_capped};
use crate::wire::{CollectedAnswer, tokens};

/// Adds one event of a stream.
pub(crate) fn decode_event(
    answer: &mut CollectedAnswer,
    kind: &str,
    data: &Value,
) -> Result<(), ProviderError> {
    let index = data["index"].as_u64().unwrap_or(0);
    match kind {
        "message_start" => {
            answer.begun = true;
            take_usage(answer, &data["message"]["usage"]);
            if let Some(model) = data["message"]["model"].as_str() {
                answer.model = Some(model.to_owned());
            }
        }
        "content_block_start" => {
            answer.begun = true;
            begin_block(answer, index, &data["content_block"]);
        }
        "content_block_delta" => add_delta(answer, index, &data["delta"]),
        "message_delta" => {
            take_stop(answer, &data["delta"]["stop_reason"]);
            take_usage(answer, &data["usage"]);
        }
        "message_stop" => answer.ended = true,
        "error" => return Err(classify_body(&data["error"])),
        _ => {}
    }
    Ok(())
}

/// Reads an answer that was not streamed.
pub(crate) fn decode_whole(
    answer: &mut CollectedAnswer,
    body: &Value,
) -> Result<(), ProviderError> {
    if body["type"] == "error" || !body["error"].is_null() {
        return Err(classify_body(&body["error"]));
    }
    let blocks = body["content"].as_array();
    answer.begun = blocks.is_some();
    for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
        begin_block(answer, index, block);
    }
    take_usage(answer, &body["usage"]);
    take_stop(answer, &body["stop_reason"]);
    answer.model = body["model"].as_str().map(str::to_owned);
    answer.ended = true;
    Ok(())
}

fn begin_block(answer: &mut CollectedAnswer, index: u64, block: &Value) {
    match block["type"].as_str().unwrap_or_default() {
        "text" => answer.add_text(block["text"].as_str().unwrap_or_default()),
        "thinking" => {
            answer.reasoning.details.push(block.clone());
            answer.open_reasoning = Some((index, answer.reasoning.details.len() - 1));
            let thought = block["thinking"].as_str().unwrap_or_default();
            answer.add_reasoning(thought);
        }
        "redacted_thinking" => answer.reasoning.details.push(block.clone()),
        "tool_use" => {
            let input = &block["input"];
            let given = input.as_object().is_some_and(|input| !input.is_empty());
            let arguments = if given {
                input.to_string()
            } else {
                String::new()
            };
            let piece = CallPiece {
                index: Some(index),
                id: block["id"].as_str().unwrap_or_default(),
                name: block["name"].as_str().unwrap_or_default(),
                arguments: &arguments,
                ..CallPiece::default()
            };
            answer.add_call(&piece);
        }
        _ => {}
    }
}

fn add_delta(answer: &mut CollectedAnswer, index: u64, delta: &Value) {
    let text = |key: &str| delta[key].as_str().unwrap_or_default();
    match delta["type"].as_str().unwrap_or_default() {
        "text_delta" => answer.add_text(text("text")),
        "thinking_delta" => {
            extend_reasoning(answer, index, "thinking", text("thinking"));
            answer.add_reasoning(text("thinking"));
        }
        "signature_delta" => extend_reasoning(answer, index, "signature", text("signature")),
        "input_json_delta" => {
            let piece = CallPiece {
                index: Some(index),
                arguments: text("partial_json"),
                ..CallPiece::default()
            };
            answer.add_call(&piece);
        }
        _ => {}
    }
}

fn extend_reasoning(answer: &mut CollectedAnswer, index: u64, key: &str, more: &str) {
    let open = answer.open_reasoning.filter(|(open, _)| *open == index);
    let Some(detail) = open.and_then(|(_, at)| answer.reasoning.details.get_mut(at)) else {
        return;
    };
    let mut text = detail[key].as_str().unwrap_or_default().to_owned();
    append_capped(&mut text, more);
    detail[key] = json!(text);
}

fn take_usage(answer: &mut CollectedAnswer, usage: &Value) {
    let found = [
        "input_tokens",
        "output_tokens",
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
    ]
    .map(|key| tokens(&usage[key]));
    if found.iter().all(Option::is_none) {
        return;
    }
    let known = answer.usage.get_or_insert_default();
    let [input, output, cache_read, cache_write] = found;
    known.input = input.unwrap_or(known.input);
    known.output = output.unwrap_or(known.output);
    known.cache_read = cache_read.unwrap_or(known.cache_read);
    known.cache_write = cache_write.unwrap_or(known.cache_write);
}

fn take_stop(answer: &mut CollectedAnswer, reason: &Value) {
    let Some(reason) = reason.as_str() else {
        return;
    };
    answer.finish = Some(match reason {
        "tool_use" => FinishReason::ToolCalls,
        "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
        "refusal" => FinishReason::ContentFilter,
        _ => FinishReason::Stop,
    });
}
