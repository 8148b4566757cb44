//! The answer of a model while it arrives, whatever its wire format.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::arguments::repair_arguments;
use crate::message::{Reasoning, ToolCall};
use crate::response::{Cost, FinishReason, ModelResponse, StreamEvent, TokenUsage};

/// Maximum bytes of arguments of one call; longer ones count as truncated.
const MAX_ARGUMENTS: usize = 4 << 20;

/// Maximum bytes of text, and of reasoning.
pub(super) const MAX_TEXT: usize = 8 << 20;

/// Calls of one answer. Beyond them, and beyond the sizes above, an answer is not worth reading on.
const MAX_CALLS: usize = 256;

/// The content of an answer so far.
#[derive(Debug, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact about the answer"
)]
pub(crate) struct CollectedAnswer {
    /// Not shown yet; of an answer that is not streamed, nothing is.
    pub(crate) events: Vec<StreamEvent>,
    pub(super) text: String,
    pub(super) reasoning: Reasoning,
    /// In the chat format: whether reasoning came as `reasoning_content`, and goes back under this
    /// name.
    pub(super) reasoning_as_content: bool,
    /// In Anthropic's format: the index of the current reasoning block and its position in
    /// `reasoning.details`.
    pub(super) open_reasoning: Option<(u64, usize)>,
    slots: Vec<CallSlot>,
    pub(super) finish: Option<FinishReason>,
    /// Whether an answer has begun, even if it is still empty.
    pub(super) begun: bool,
    /// Whether nothing more will follow.
    pub(super) ended: bool,
    /// Whether there was more content than is kept.
    overflowed: bool,
    pub(super) usage: Option<TokenUsage>,
    pub(super) cost: Cost,
    pub(super) model: Option<String>,
}

#[derive(Debug)]
struct CallSlot {
    index: Option<u64>,
    call: ToolCall,
    too_long: bool,
    announced: bool,
}

/// A piece of a streamed call; `id` and `name` are empty if the piece has none.
#[derive(Debug, Default)]
pub(super) struct CallPiece<'a> {
    pub(super) index: Option<u64>,
    pub(super) id: &'a str,
    pub(super) item_id: Option<&'a str>,
    pub(super) name: &'a str,
    pub(super) arguments: &'a str,
    pub(super) extra_content: Option<&'a Value>,
}

impl CollectedAnswer {
    /// Adds text. Text after a call is stored but not streamed.
    pub(super) fn add_text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.overflowed |= !append_capped(&mut self.text, text);
        if self.slots.is_empty() {
            self.events.push(StreamEvent::Text(text.to_owned()));
        }
    }

    pub(super) fn add_reasoning(&mut self, reasoning: &str) {
        if !reasoning.is_empty() {
            let kept = self.reasoning.text.get_or_insert_default();
            self.overflowed |= !append_capped(kept, reasoning);
            self.events
                .push(StreamEvent::Reasoning(reasoning.to_owned()));
        }
    }

    /// Adds a piece of a call. A different id at a used index is another call: some servers give
    /// every call the index 0.
    pub(super) fn add_call(&mut self, piece: &CallPiece<'_>) {
        let found = match piece.index {
            Some(index) => self
                .slots
                .iter()
                .rposition(|slot| slot.index == Some(index)),
            None if piece.id.is_empty() => self.slots.len().checked_sub(1),
            None => self.slots.iter().rposition(|slot| slot.call.id == piece.id),
        };
        let found = found.filter(|at| {
            let id = self.slots.get(*at).map_or("", |slot| slot.call.id.as_str());
            piece.id.is_empty() || id.is_empty() || id == piece.id
        });
        let arguments = self.slots.iter().map(|slot| slot.call.arguments.len());
        let is_full = self.slots.len() >= MAX_CALLS || arguments.sum::<usize>() > MAX_TEXT;
        if found.is_none() && is_full {
            self.overflowed = true;
            return;
        }
        let at = found.unwrap_or_else(|| {
            self.slots.push(CallSlot {
                index: piece.index,
                call: ToolCall::new("", "", ""),
                too_long: false,
                announced: false,
            });
            self.slots.len() - 1
        });
        let Some(slot) = self.slots.get_mut(at) else {
            return;
        };
        let call = &mut slot.call;
        if !piece.id.is_empty() {
            piece.id.clone_into(&mut call.id);
        }
        if !piece.name.is_empty() {
            piece.name.clone_into(&mut call.name);
        }
        if let Some(id) = piece.item_id {
            call.item_id = Some(id.to_owned());
        }
        if let Some(extra) = piece.extra_content {
            call.extra_content = Some(extra.clone());
        }
        if call.arguments.len() + piece.arguments.len() > MAX_ARGUMENTS {
            slot.too_long = true;
            call.arguments = String::new();
        } else if !slot.too_long {
            call.arguments.push_str(piece.arguments);
        }
        if !slot.announced && !call.name.is_empty() {
            slot.announced = true;
            self.events.push(StreamEvent::ToolCall {
                name: call.name.clone(),
            });
        }
    }

    /// Replaces the pieces of one call by its complete arguments.
    pub(super) fn set_arguments(&mut self, index: u64, arguments: &str) {
        let mut slots = self.slots.iter_mut();
        if let Some(slot) = slots.rfind(|slot| slot.index == Some(index)) {
            slot.too_long = arguments.len() > MAX_ARGUMENTS;
            let kept = if slot.too_long { "" } else { arguments };
            kept.clone_into(&mut slot.call.arguments);
        }
    }

    /// Whether the provider said that the answer is complete.
    pub(crate) fn is_complete(&self) -> bool {
        self.ended || self.finish.is_some()
    }

    /// Whether there was more content than any honest answer has.
    pub(crate) fn has_overflowed(&self) -> bool {
        self.overflowed
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.ended
    }

    pub(crate) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    pub(crate) fn has_anything(&self) -> bool {
        self.has_text() || self.reasoning.text.is_some() || !self.slots.is_empty()
    }

    /// Names of the calls that have begun.
    pub(crate) fn calls_begun(&self) -> Vec<String> {
        let calls = self.slots.iter().map(|slot| slot.call.name.clone());
        calls.collect()
    }

    /// The response, complete or partial; `None` if there is none.
    pub(crate) fn into_response(mut self) -> Option<ModelResponse> {
        if !self.begun && !self.has_anything() {
            return None;
        }
        if self.reasoning_as_content {
            self.reasoning.content.clone_from(&self.reasoning.text);
        }
        let mut whole = true;
        let mut tool_calls = Vec::new();
        for CallSlot {
            mut call, too_long, ..
        } in self.slots
        {
            if call.name.is_empty() && call.arguments.is_empty() {
                continue;
            }
            match repair_arguments(&call.arguments).filter(|_| !too_long) {
                Some(repaired) => call.arguments = repaired,
                None => whole = false,
            }
            // Its result is matched by this id.
            if call.id.is_empty() {
                let random = RandomState::new().hash_one(tool_calls.len());
                call.id = format!("call_{random:016x}");
            }
            tool_calls.push(call);
        }
        // The stated reason, corrected by the actual content.
        let finish = match self.finish.unwrap_or(FinishReason::Stop) {
            _ if !whole => FinishReason::Length,
            FinishReason::Stop if !tool_calls.is_empty() => FinishReason::ToolCalls,
            FinishReason::ToolCalls if tool_calls.is_empty() => FinishReason::Stop,
            other => other,
        };
        Some(ModelResponse {
            text: self.text,
            reasoning: self.reasoning,
            tool_calls,
            usage: self.usage,
            cost: self.cost,
            model: self.model,
            ..ModelResponse::new(finish)
        })
    }
}

/// Appends text up to the limit; whether there was room for it.
pub(super) fn append_capped(text: &mut String, more: &str) -> bool {
    let fits = text.len() + more.len() <= MAX_TEXT;
    if fits {
        text.push_str(more);
    }
    fits
}
