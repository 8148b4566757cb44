//! Decodes answers in Anthropic's messages format, streamed or whole.

use serde_json::{Value, json};

use crate::classify::classify_body;
use crate::error::ProviderError;
use crate::message::Reasoning;
use crate::response::{FinishReason, ModelResponse, StreamEvent};
use crate::wire::decoder::{CallPiece, CollectedAnswer, append_capped};
use crate::wire::{Decoder, tokens_at};

/// Decoder of one answer.
#[derive(Debug, Default)]
pub(crate) struct AnthropicDecoder {
    answer: CollectedAnswer,
    details: Vec<Value>,
    /// The current reasoning block: its index and its position in `details`.
    open_reasoning: Option<(u64, usize)>,
    stopped: bool,
}

impl AnthropicDecoder {
    fn begin_block(&mut self, index: u64, block: &Value, sink: &mut dyn FnMut(StreamEvent)) {
        match block["type"].as_str().unwrap_or_default() {
            "text" => self
                .answer
                .add_text(block["text"].as_str().unwrap_or_default(), sink),
            "thinking" => {
                self.details.push(block.clone());
                self.open_reasoning = Some((index, self.details.len() - 1));
                let thought = block["thinking"].as_str().unwrap_or_default();
                self.answer.add_reasoning(thought, sink);
            }
            "redacted_thinking" => self.details.push(block.clone()),
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
                self.answer.slots.add(&piece, sink);
            }
            _ => {}
        }
    }

    fn add_delta(&mut self, index: u64, delta: &Value, sink: &mut dyn FnMut(StreamEvent)) {
        let text = |key: &str| delta[key].as_str().unwrap_or_default();
        match delta["type"].as_str().unwrap_or_default() {
            "text_delta" => self.answer.add_text(text("text"), sink),
            "thinking_delta" => {
                self.extend_reasoning(index, "thinking", text("thinking"));
                self.answer.add_reasoning(text("thinking"), sink);
            }
            "signature_delta" => self.extend_reasoning(index, "signature", text("signature")),
            "input_json_delta" => {
                let piece = CallPiece {
                    index: Some(index),
                    arguments: text("partial_json"),
                    ..CallPiece::default()
                };
                self.answer.slots.add(&piece, sink);
            }
            _ => {}
        }
    }

    fn extend_reasoning(&mut self, index: u64, key: &str, more: &str) {
        let open = self.open_reasoning.filter(|(open, _)| *open == index);
        let Some(detail) = open.and_then(|(_, at)| self.details.get_mut(at)) else {
            return;
        };
        let mut text = detail[key].as_str().unwrap_or_default().to_owned();
        append_capped(&mut text, more);
        detail[key] = json!(text);
    }

    fn take_usage(&mut self, usage: &Value) {
        let at = |key: &str| tokens_at(usage, &[key]);
        let found = [
            at("input_tokens"),
            at("output_tokens"),
            at("cache_read_input_tokens"),
            at("cache_creation_input_tokens"),
        ];
        if found.iter().all(Option::is_none) {
            return;
        }
        let known = self.answer.usage.get_or_insert_default();
        let [input, output, cache_read, cache_write] = found;
        known.input = input.unwrap_or(known.input);
        known.output = output.unwrap_or(known.output);
        known.cache_read = cache_read.unwrap_or(known.cache_read);
        known.cache_write = cache_write.unwrap_or(known.cache_write);
    }

    fn take_stop(&mut self, reason: &Value) {
        let Some(reason) = reason.as_str() else {
            return;
        };
        self.answer.finish = Some(match reason {
            "tool_use" => FinishReason::ToolCalls,
            "max_tokens" | "model_context_window_exceeded" => FinishReason::Length,
            "refusal" => FinishReason::ContentFilter,
            _ => FinishReason::Stop,
        });
    }
}

impl Decoder for AnthropicDecoder {
    fn event(
        &mut self,
        name: &str,
        data: &Value,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), ProviderError> {
        let index = data["index"].as_u64().unwrap_or(0);
        match data["type"].as_str().unwrap_or(name) {
            "message_start" => {
                self.answer.begun = true;
                self.take_usage(&data["message"]["usage"]);
                let model = data["message"]["model"].as_str();
                self.answer.model = model
                    .map(str::to_owned)
                    .or_else(|| self.answer.model.take());
            }
            "content_block_start" => {
                self.answer.begun = true;
                self.begin_block(index, &data["content_block"], sink);
            }
            "content_block_delta" => self.add_delta(index, &data["delta"], sink),
            "message_delta" => {
                self.take_stop(&data["delta"]["stop_reason"]);
                self.take_usage(&data["usage"]);
            }
            "message_stop" => self.stopped = true,
            "error" => return Err(classify_body(&data["error"])),
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value) -> Result<(), ProviderError> {
        if body["type"] == "error" || body.get("error").is_some_and(|error| !error.is_null()) {
            return Err(classify_body(&body["error"]));
        }
        let blocks = body["content"].as_array();
        self.answer.begun = blocks.is_some();
        for (index, block) in (0..).zip(blocks.into_iter().flatten()) {
            self.begin_block(index, block, &mut |_| {});
        }
        self.take_usage(&body["usage"]);
        self.take_stop(&body["stop_reason"]);
        self.answer.model = body["model"].as_str().map(str::to_owned);
        self.stopped = true;
        Ok(())
    }

    fn is_complete(&self) -> bool {
        self.stopped || self.answer.finish.is_some()
    }

    fn is_ended(&self) -> bool {
        self.stopped
    }

    fn collected(&self) -> &CollectedAnswer {
        &self.answer
    }

    fn finish(self: Box<Self>) -> Option<ModelResponse> {
        let details = self.details;
        self.answer.into_response(|text| Reasoning {
            text,
            details,
            ..Reasoning::default()
        })
    }
}
