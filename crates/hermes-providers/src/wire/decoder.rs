//! The common part of the decoders of all wire formats.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::arguments::repair_arguments;
use crate::error::ProviderError;
use crate::message::{Reasoning, ToolCall};
use crate::response::{Cost, FinishReason, ModelResponse, StreamEvent, TokenUsage};

/// Maximum bytes of arguments of one call; longer ones count as truncated.
const MAX_ARGUMENTS: usize = 4 << 20;

/// Maximum bytes of text, and of reasoning.
pub(super) const MAX_TEXT: usize = 8 << 20;

/// Turns the events of one answer into a response.
pub(crate) trait Decoder {
    /// Consumes one event of a stream.
    fn event(
        &mut self,
        name: &str,
        data: &Value,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), ProviderError>;

    /// Consumes an answer that was not streamed.
    fn whole(&mut self, body: &Value) -> Result<(), ProviderError>;

    /// Whether the provider said that the answer is complete.
    fn is_complete(&self) -> bool;

    /// Whether nothing more will follow.
    fn is_ended(&self) -> bool;

    /// The answer so far.
    fn collected(&self) -> &CollectedAnswer;

    /// The response, complete or partial; `None` if there is none.
    fn finish(self: Box<Self>) -> Option<ModelResponse>;
}

/// The content of an answer, independent of its format.
#[derive(Debug, Default)]
pub(crate) struct CollectedAnswer {
    pub(super) text: String,
    pub(super) reasoning: String,
    pub(super) slots: CallSlots,
    pub(super) finish: Option<FinishReason>,
    /// Whether an answer has begun, even if it is still empty.
    pub(super) begun: bool,
    pub(super) usage: Option<TokenUsage>,
    /// The cost, if stated.
    pub(super) cost: Cost,
    pub(super) model: Option<String>,
}

impl CollectedAnswer {
    /// Adds text. Text after a call is stored but not streamed.
    pub(super) fn add_text(&mut self, text: &str, sink: &mut dyn FnMut(StreamEvent)) {
        if text.is_empty() {
            return;
        }
        append_capped(&mut self.text, text);
        if self.slots.is_empty() {
            sink(StreamEvent::Text(text.to_owned()));
        }
    }

    /// Adds reasoning.
    pub(super) fn add_reasoning(&mut self, reasoning: &str, sink: &mut dyn FnMut(StreamEvent)) {
        if !reasoning.is_empty() {
            append_capped(&mut self.reasoning, reasoning);
            sink(StreamEvent::Reasoning(reasoning.to_owned()));
        }
    }

    /// Whether the answer has text.
    pub(crate) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether the answer has any content.
    pub(crate) fn has_anything(&self) -> bool {
        self.has_text() || !self.reasoning.is_empty() || !self.slots.is_empty()
    }

    /// Names of the calls that have begun.
    pub(crate) fn calls_begun(&self) -> Vec<String> {
        self.slots
            .slots
            .iter()
            .map(|slot| slot.name.clone())
            .collect()
    }

    /// The response, with the reasoning as the format has it; `None` if there is none.
    pub(super) fn into_response(
        self,
        reasoning: impl FnOnce(Option<String>) -> Reasoning,
    ) -> Option<ModelResponse> {
        if !self.begun && !self.has_anything() {
            return None;
        }
        let (tool_calls, whole) = self.slots.finish();
        let finish = actual_finish(
            self.finish.unwrap_or(FinishReason::Stop),
            &tool_calls,
            whole,
        );
        Some(ModelResponse {
            text: self.text,
            reasoning: reasoning(Some(self.reasoning).filter(|reasoning| !reasoning.is_empty())),
            tool_calls,
            usage: self.usage,
            cost: self.cost,
            model: self.model,
            ..ModelResponse::new(finish)
        })
    }
}

/// The calls of an answer while they arrive.
#[derive(Debug, Default)]
pub(crate) struct CallSlots {
    slots: Vec<CallSlot>,
}

#[derive(Debug)]
struct CallSlot {
    index: Option<u64>,
    id: String,
    item_id: Option<String>,
    name: String,
    arguments: String,
    too_long: bool,
    extra_content: Option<Value>,
    announced: bool,
}

/// A piece of a streamed call.
#[derive(Debug, Default)]
pub(crate) struct CallPiece<'a> {
    /// Index of the call.
    pub(crate) index: Option<u64>,
    /// Id; empty if the piece has none.
    pub(crate) id: &'a str,
    /// Item id in the responses format.
    pub(crate) item_id: Option<&'a str>,
    /// Tool; empty if the piece has none.
    pub(crate) name: &'a str,
    /// More arguments.
    pub(crate) arguments: &'a str,
    /// Data to send back with the call.
    pub(crate) extra_content: Option<&'a Value>,
}

impl CallSlots {
    /// Adds a piece. A different id at a used index is another call: some servers give every call the
    /// index 0.
    pub(crate) fn add(&mut self, piece: &CallPiece<'_>, sink: &mut dyn FnMut(StreamEvent)) {
        let found = match piece.index {
            Some(index) => self
                .slots
                .iter()
                .rposition(|slot| slot.index == Some(index)),
            None if piece.id.is_empty() => self.slots.len().checked_sub(1),
            None => self.slots.iter().rposition(|slot| slot.id == piece.id),
        };
        let found = found.filter(|at| {
            let id = self.slots.get(*at).map_or("", |slot| slot.id.as_str());
            piece.id.is_empty() || id.is_empty() || id == piece.id
        });
        let at = found.unwrap_or_else(|| {
            self.slots.push(CallSlot {
                index: piece.index,
                id: String::new(),
                item_id: None,
                name: String::new(),
                arguments: String::new(),
                too_long: false,
                extra_content: None,
                announced: false,
            });
            self.slots.len() - 1
        });
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        if !piece.id.is_empty() {
            piece.id.clone_into(&mut slot.id);
        }
        if !piece.name.is_empty() {
            piece.name.clone_into(&mut slot.name);
        }
        if let Some(id) = piece.item_id {
            slot.item_id = Some(id.to_owned());
        }
        if let Some(extra) = piece.extra_content {
            slot.extra_content = Some(extra.clone());
        }
        if slot.arguments.len() + piece.arguments.len() > MAX_ARGUMENTS {
            slot.too_long = true;
            slot.arguments = String::new();
        } else if !slot.too_long {
            slot.arguments.push_str(piece.arguments);
        }
        if !slot.announced && !slot.name.is_empty() {
            slot.announced = true;
            sink(StreamEvent::ToolCall {
                name: slot.name.clone(),
            });
        }
    }

    /// Replaces the pieces of one call by its complete arguments.
    pub(crate) fn set_arguments(&mut self, index: u64, arguments: &str) {
        let slot = self
            .slots
            .iter_mut()
            .rfind(|slot| slot.index == Some(index));
        if let Some(slot) = slot {
            slot.too_long = arguments.len() > MAX_ARGUMENTS;
            slot.arguments = if slot.too_long {
                String::new()
            } else {
                arguments.to_owned()
            };
        }
    }

    /// Whether a call has begun.
    pub(crate) fn is_empty(&self) -> bool {
        self.slots.is_empty()
    }

    /// The calls, and whether all their arguments are complete.
    pub(crate) fn finish(self) -> (Vec<ToolCall>, bool) {
        let mut whole = true;
        let named = self
            .slots
            .into_iter()
            .filter(|slot| !slot.name.is_empty() || !slot.arguments.is_empty());
        let calls = named.enumerate().map(|(at, slot)| {
            let repaired = repair_arguments(&slot.arguments).filter(|_| !slot.too_long);
            whole &= repaired.is_some();
            ToolCall {
                id: if slot.id.is_empty() {
                    generated_id(at)
                } else {
                    slot.id
                },
                name: slot.name,
                arguments: repaired.unwrap_or(slot.arguments),
                extra_content: slot.extra_content,
                item_id: slot.item_id,
            }
        });
        let calls = calls.collect();
        (calls, whole)
    }
}

/// An id for a call without one, by which its result is matched.
fn generated_id(at: usize) -> String {
    format!("call_{:016x}", RandomState::new().hash_one(at))
}

/// The finish reason, corrected by the actual content.
fn actual_finish(said: FinishReason, calls: &[ToolCall], whole: bool) -> FinishReason {
    match said {
        _ if !whole => FinishReason::Length,
        FinishReason::Stop if !calls.is_empty() => FinishReason::ToolCalls,
        FinishReason::ToolCalls if calls.is_empty() => FinishReason::Stop,
        other => other,
    }
}

/// Appends text up to the limit.
pub(crate) fn append_capped(text: &mut String, more: &str) {
    if text.len() + more.len() <= MAX_TEXT {
        text.push_str(more);
    }
}
