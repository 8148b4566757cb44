//! Decodes chat completions, streamed or whole.

use serde_json::Value;

use super::usage::{stated_cost, usage};
use crate::classify::classify_body;
use crate::error::ProviderError;
use crate::message::Reasoning;
use crate::response::{Cost, FinishReason, ModelResponse, StreamEvent};
use crate::wire::Decoder;
use crate::wire::decoder::{CallPiece, CollectedAnswer};

/// Decoder of one answer.
#[derive(Debug, Default)]
pub(crate) struct ChatDecoder {
    answer: CollectedAnswer,
    /// Whether reasoning came as `reasoning_content`, and goes back under this name.
    reasoning_as_content: bool,
    details: Vec<Value>,
    done: bool,
}

impl ChatDecoder {
    fn take_choice(&mut self, choice: &Value, part: &str, sink: &mut dyn FnMut(StreamEvent)) {
        let delta = &choice[part];
        self.answer.begun |= delta.is_object();
        self.take_reasoning(delta, sink);
        self.answer.add_text(&content_text(&delta["content"]), sink);
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            self.take_call(call, sink);
        }
        if let Some(reason) = choice["finish_reason"].as_str() {
            self.answer.finish = Some(match reason {
                "tool_calls" | "function_call" => FinishReason::ToolCalls,
                "length" | "max_tokens" => FinishReason::Length,
                "content_filter" => FinishReason::ContentFilter,
                _ => FinishReason::Stop,
            });
        }
    }

    fn take_reasoning(&mut self, delta: &Value, sink: &mut dyn FnMut(StreamEvent)) {
        let content = delta["reasoning_content"].as_str();
        let reasoning = content.or_else(|| delta["reasoning"].as_str());
        if let Some(reasoning) = reasoning.filter(|reasoning| !reasoning.is_empty()) {
            self.reasoning_as_content |= content.is_some();
            self.answer.add_reasoning(reasoning, sink);
        }
        for detail in delta["reasoning_details"].as_array().into_iter().flatten() {
            self.take_detail(detail);
        }
    }

    /// Adds a reasoning detail. Pieces of the same type and index belong together.
    fn take_detail(&mut self, detail: &Value) {
        let same =
            |other: &Value| other["type"] == detail["type"] && other["index"] == detail["index"];
        let open = self.details.last_mut().filter(|last| same(last));
        let Some(open) = open else {
            // A limit for servers that send endless details.
            if detail.is_object() && self.details.len() < 10_000 {
                self.details.push(detail.clone());
            }
            return;
        };
        for (key, value) in detail.as_object().into_iter().flatten() {
            let slot = &mut open[key.as_str()];
            match (slot.as_str(), value) {
                (Some(before), Value::String(more))
                    if matches!(key.as_str(), "text" | "summary" | "data")
                        && before.len() + more.len() <= crate::wire::decoder::MAX_TEXT =>
                {
                    *slot = Value::String(format!("{before}{more}"));
                }
                (_, Value::Null) => {}
                (_, value) => *slot = value.clone(),
            }
        }
    }

    fn take_call(&mut self, call: &Value, sink: &mut dyn FnMut(StreamEvent)) {
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
        self.answer.slots.add(&piece, sink);
    }

    fn take_frame(&mut self, data: &Value) -> Result<(), ProviderError> {
        if let Some(error) = data.get("error").filter(|error| !error.is_null()) {
            return Err(classify_body(error));
        }
        if let Some(found) = usage(&data["usage"]) {
            self.answer.usage = Some(found);
        }
        if let Some(dollars) = stated_cost(&data["usage"]) {
            self.answer.cost = Cost::Stated(dollars);
        }
        if let Some(model) = data["model"].as_str() {
            self.answer.model = Some(model.to_owned());
        }
        Ok(())
    }
}

impl Decoder for ChatDecoder {
    fn event(
        &mut self,
        _name: &str,
        data: &Value,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), ProviderError> {
        if data == "[DONE]" {
            self.done = true;
            return Ok(());
        }
        self.take_frame(data)?;
        // Only one choice was requested.
        if let Some(choice) = data["choices"].get(0) {
            self.take_choice(choice, "delta", sink);
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value) -> Result<(), ProviderError> {
        self.take_frame(body)?;
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
            self.take_choice(&choice, "message", &mut |_| {});
        }
        self.done = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.done || self.answer.finish.is_some()
    }

    fn is_ended(&self) -> bool {
        self.done
    }

    fn collected(&self) -> &CollectedAnswer {
        &self.answer
    }

    fn finish(self: Box<Self>) -> Option<ModelResponse> {
        let (details, as_content) = (self.details, self.reasoning_as_content);
        self.answer.into_response(|text| Reasoning {
            content: text.clone().filter(|_| as_content),
            text,
            details,
            ..Reasoning::default()
        })
    }
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
