//! Decodes answers in the responses format, streamed or whole.

use serde_json::Value;

use crate::classify::classify_body;
use crate::error::ProviderError;
use crate::message::Reasoning;
use crate::response::{FinishReason, ModelResponse, StreamEvent, TokenUsage};
use crate::wire::decoder::{CallPiece, CollectedAnswer};
use crate::wire::{Decoder, tokens_at};

/// Decoder of one answer.
#[derive(Debug, Default)]
pub(crate) struct ResponsesDecoder {
    answer: CollectedAnswer,
    response_items: Vec<Value>,
    message_items: Vec<Value>,
    ended: bool,
}

impl ResponsesDecoder {
    /// Consumes a complete item. Content that its pieces already had is not repeated.
    fn take_item(&mut self, index: u64, item: &Value, sink: &mut dyn FnMut(StreamEvent)) {
        self.answer.begun = true;
        match item["type"].as_str().unwrap_or_default() {
            "message" => {
                self.message_items.push(item.clone());
                if self.answer.text.is_empty() {
                    let parts = item["content"].as_array().into_iter().flatten();
                    let text: String = parts.filter_map(|part| part["text"].as_str()).collect();
                    self.answer.add_text(&text, sink);
                }
            }
            "reasoning" => {
                if item["encrypted_content"].is_string() {
                    self.response_items.push(item.clone());
                }
                if self.answer.reasoning.is_empty() {
                    let parts = item["summary"].as_array().into_iter().flatten();
                    let parts: Vec<&str> = parts.filter_map(|part| part["text"].as_str()).collect();
                    self.answer.add_reasoning(&parts.join("\n\n"), sink);
                }
            }
            "function_call" => {
                self.begin_call(index, item, sink);
                if let Some(arguments) = item["arguments"].as_str() {
                    self.answer.slots.set_arguments(index, arguments);
                }
            }
            _ => {}
        }
    }

    fn begin_call(&mut self, index: u64, item: &Value, sink: &mut dyn FnMut(StreamEvent)) {
        let id = item["id"].as_str();
        let piece = CallPiece {
            index: Some(index),
            id: item["call_id"].as_str().or(id).unwrap_or_default(),
            item_id: id,
            name: item["name"].as_str().unwrap_or_default(),
            ..CallPiece::default()
        };
        self.answer.slots.add(&piece, sink);
    }

    /// Consumes the whole response, at the end of a stream or instead of one.
    fn take_end(
        &mut self,
        response: &Value,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), ProviderError> {
        if let Some(error) = response.get("error").filter(|error| !error.is_null()) {
            return Err(classify_body(error));
        }
        let output = response["output"].as_array();
        // Some servers send the items only here.
        if !self.answer.has_anything() {
            for (index, item) in (0..).zip(output.into_iter().flatten()) {
                self.take_item(index, item, sink);
            }
        }
        self.answer.begun |= output.is_some();
        self.answer.usage = usage(&response["usage"]).or(self.answer.usage);
        if let Some(model) = response["model"].as_str() {
            self.answer.model = Some(model.to_owned());
        }
        self.answer.finish = Some(match response["incomplete_details"]["reason"].as_str() {
            Some("content_filter") => FinishReason::ContentFilter,
            Some(_) => FinishReason::Length,
            None if response["status"] == "incomplete" => FinishReason::Length,
            None => FinishReason::Stop,
        });
        self.ended = true;
        Ok(())
    }
}

impl Decoder for ResponsesDecoder {
    fn event(
        &mut self,
        name: &str,
        data: &Value,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), ProviderError> {
        let index = data["output_index"].as_u64().unwrap_or(0);
        let delta = data["delta"].as_str().unwrap_or_default();
        match data["type"].as_str().unwrap_or(name) {
            "response.output_text.delta" | "response.refusal.delta" => {
                self.answer.add_text(delta, sink);
            }
            "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" => {
                self.answer.add_reasoning(delta, sink);
            }
            "response.output_item.added" => {
                self.answer.begun = true;
                if data["item"]["type"] == "function_call" {
                    self.begin_call(index, &data["item"], sink);
                }
            }
            "response.function_call_arguments.delta" => {
                let piece = CallPiece {
                    index: Some(index),
                    arguments: delta,
                    ..CallPiece::default()
                };
                self.answer.slots.add(&piece, sink);
            }
            "response.function_call_arguments.done" => {
                if let Some(arguments) = data["arguments"].as_str() {
                    self.answer.slots.set_arguments(index, arguments);
                }
            }
            "response.output_item.done" => self.take_item(index, &data["item"], sink),
            "response.completed" | "response.incomplete" | "response.done" => {
                self.take_end(&data["response"], sink)?;
            }
            "response.failed" => {
                let error = &data["response"]["error"];
                return Err(classify_body(if error.is_null() { data } else { error }));
            }
            "error" => {
                let error = &data["error"];
                return Err(classify_body(if error.is_null() { data } else { error }));
            }
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, body: &Value) -> Result<(), ProviderError> {
        self.take_end(body, &mut |_| {})
    }

    fn is_complete(&self) -> bool {
        self.ended
    }

    fn is_ended(&self) -> bool {
        self.ended
    }

    fn collected(&self) -> &CollectedAnswer {
        &self.answer
    }

    fn finish(self: Box<Self>) -> Option<ModelResponse> {
        let (response_items, message_items) = (self.response_items, self.message_items);
        self.answer.into_response(|text| Reasoning {
            text,
            response_items,
            message_items,
            ..Reasoning::default()
        })
    }
}

fn usage(value: &Value) -> Option<TokenUsage> {
    let input = tokens_at(value, &["input_tokens"]);
    let output = tokens_at(value, &["output_tokens"]);
    if input.is_none() && output.is_none() {
        return None;
    }
    let at = |path: &[&str]| tokens_at(value, path).unwrap_or(0);
    let cache_read = at(&["input_tokens_details", "cached_tokens"]);
    let cache_write = at(&["input_tokens_details", "cache_write_tokens"]);
    Some(TokenUsage {
        input: input
            .unwrap_or(0)
            .saturating_sub(cache_read.saturating_add(cache_write)),
        output: output.unwrap_or(0),
        cache_read,
        cache_write,
        reasoning: at(&["output_tokens_details", "reasoning_tokens"]),
    })
}
