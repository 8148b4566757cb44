//! Decodes answers in the responses format, streamed or whole.

use serde_json::Value;

use crate::classify::classify_body;
use crate::error::ProviderError;
use crate::response::FinishReason;
use crate::wire::CollectedAnswer;
use crate::wire::answer::CallPiece;
use crate::wire::usage::usage;

/// Adds one event of a stream.
pub(crate) fn decode_event(
    answer: &mut CollectedAnswer,
    kind: &str,
    data: &Value,
) -> Result<(), ProviderError> {
    let index = data["output_index"].as_u64().unwrap_or(0);
    let delta = data["delta"].as_str().unwrap_or_default();
    match kind {
        "response.output_text.delta" | "response.refusal.delta" => {
            answer.add_text(delta);
        }
        "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
            answer.add_reasoning(delta);
        }
        "response.output_item.added" => {
            answer.begun = true;
            if data["item"]["type"] == "function_call" {
                begin_call(answer, index, &data["item"]);
            }
        }
        "response.function_call_arguments.delta" => {
            let piece = CallPiece {
                index: Some(index),
                arguments: delta,
                ..CallPiece::default()
            };
            answer.add_call(&piece);
        }
        "response.function_call_arguments.done" => {
            if let Some(arguments) = data["arguments"].as_str() {
                answer.set_arguments(index, arguments);
            }
        }
        "response.output_item.done" => take_item(answer, index, &data["item"]),
        "response.completed" | "response.incomplete" | "response.done" => {
            decode_whole(answer, &data["response"])?;
        }
        "response.failed" | "error" => {
            let of_response = &data["response"]["error"];
            let mut errors = [of_response, &data["error"]].into_iter();
            return Err(classify_body(
                errors.find(|error| !error.is_null()).unwrap_or(data),
            ));
        }
        _ => {}
    }
    Ok(())
}

/// Reads the whole response, at the end of a stream or instead of one.
pub(crate) fn decode_whole(
    answer: &mut CollectedAnswer,
    response: &Value,
) -> Result<(), ProviderError> {
    if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
        return Err(classify_body(error));
    }
    let output = response["output"].as_array();
    // Some servers send the items only here.
    if !answer.has_anything() {
        for (index, item) in (0..).zip(output.into_iter().flatten()) {
            take_item(answer, index, item);
        }
    }
    answer.begun |= output.is_some();
    answer.usage = usage(&response["usage"]).or(answer.usage);
    if let Some(model) = response["model"].as_str() {
        answer.model = Some(model.to_owned());
    }
    answer.finish = Some(match response["incomplete_details"]["reason"].as_str() {
        Some("content_filter") => FinishReason::ContentFilter,
        Some(_) => FinishReason::Length,
        None if response["status"] == "incomplete" => FinishReason::Length,
        None => FinishReason::Stop,
    });
    answer.ended = true;
    Ok(())
}

/// Consumes a complete item. Content that its pieces already had is not repeated.
fn take_item(answer: &mut CollectedAnswer, index: u64, item: &Value) {
    answer.begun = true;
    match item["type"].as_str().unwrap_or_default() {
        "message" => {
            answer.reasoning.message_items.push(item.clone());
            if answer.text.is_empty() {
                let parts = item["content"].as_array().into_iter().flatten();
                let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
                answer.add_text(&text);
            }
        }
        "reasoning" => {
            if item["encrypted_content"].is_string() {
                answer.reasoning.response_items.push(item.clone());
            }
            if answer.reasoning.text.is_none() {
                let parts = item["summary"].as_array().into_iter().flatten();
                let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                answer.add_reasoning(&parts.join("\n\n"));
            }
        }
        "function_call" => {
            begin_call(answer, index, item);
            if let Some(arguments) = item["arguments"].as_str() {
                answer.set_arguments(index, arguments);
            }
        }
        _ => {}
    }
}

fn begin_call(answer: &mut CollectedAnswer, index: u64, item: &Value) {
    let id = item["id"].as_str();
    let piece = CallPiece {
        index: Some(index),
        id: item["call_id"].as_str().or(id).unwrap_or_default(),
        item_id: id,
        name: item["name"].as_str().unwrap_or_default(),
        ..CallPiece::default()
    };
    answer.add_call(&piece);
}
