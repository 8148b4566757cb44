//! What every wire format's decoder does: take events, end up with a response.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::arguments::repair_arguments;
use crate::error::ProviderError;
use crate::message::{Reasoning, ToolCall};
use crate::response::{Cost, Finish, Response, StreamEvent, Usage};

/// Most bytes of arguments of one call that are kept. What is longer counts as cut off.
const MAX_ARGUMENTS: usize = 4 << 20;

/// Most bytes of text that are kept, of the answer and of the thoughts each.
pub(super) const MAX_TEXT: usize = 8 << 20;

/// Turns the events of one answer into a response.
pub(crate) trait Decoder {
    /// Takes one event of a stream.
    fn event(
        &mut self,
        name: &str,
        data: &Value,
        sink: &mut dyn FnMut(StreamEvent),
    ) -> Result<(), ProviderError>;

    /// Takes an answer that came in one piece.
    fn whole(&mut self, body: &Value) -> Result<(), ProviderError>;

    /// Whether the provider said that the answer is complete.
    fn is_complete(&self) -> bool;

    /// Whether nothing more will come.
    fn is_ended(&self) -> bool;

    /// What has come.
    fn collected(&self) -> &Collected;

    /// The response, complete or as far as it came; `None` if there was nothing that could be one.
    fn finish(self: Box<Self>) -> Option<Response>;
}

/// What an answer consists of, whatever its format.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    pub(super) text: String,
    pub(super) thought: String,
    pub(super) slots: Slots,
    pub(super) finish: Option<Finish>,
    /// Whether an answer has begun, even if nothing is in it yet.
    pub(super) begun: bool,
    pub(super) usage: Option<Usage>,
    /// What it cost, where the provider says.
    pub(super) cost: Cost,
    pub(super) model: Option<String>,
}

impl Collected {
    /// Adds to the answer. What follows a call is kept, but it is no longer the answer that is being
    /// told.
    pub(super) fn add_text(&mut self, text: &str, sink: &mut dyn FnMut(StreamEvent)) {
        if text.is_empty() {
            return;
        }
        append_capped(&mut self.text, text);
        if self.slots.is_empty() {
            sink(StreamEvent::Text(text.to_owned()));
        }
    }

    /// Adds to the thoughts.
    pub(super) fn add_thought(&mut self, thought: &str, sink: &mut dyn FnMut(StreamEvent)) {
        if !thought.is_empty() {
            append_capped(&mut self.thought, thought);
            sink(StreamEvent::Reasoning(thought.to_owned()));
        }
    }

    /// Whether text of the answer came.
    pub(crate) fn has_text(&self) -> bool {
        !self.text.is_empty()
    }

    /// Whether anything at all came.
    pub(crate) fn has_anything(&self) -> bool {
        self.has_text() || !self.thought.is_empty() || !self.slots.is_empty()
    }

    /// Names of the calls that have begun.
    pub(crate) fn calls_begun(&self) -> Vec<String> {
        self.slots
            .slots
            .iter()
            .map(|slot| slot.name.clone())
            .collect()
    }

    /// The response, with what the format makes of the thoughts; `None` if nothing came that could
    /// be one.
    pub(super) fn into_response(
        self,
        reasoning: impl FnOnce(Option<String>) -> Reasoning,
    ) -> Option<Response> {
        if !self.begun && !self.has_anything() {
            return None;
        }
        let (tool_calls, whole) = self.slots.finish();
        let finish = settled_finish(self.finish.unwrap_or(Finish::Stop), &tool_calls, whole);
        Some(Response {
            text: self.text,
            reasoning: reasoning(Some(self.thought).filter(|thought| !thought.is_empty())),
            tool_calls,
            usage: self.usage,
            cost: self.cost,
            model: self.model,
            ..Response::new(finish)
        })
    }
}

/// The calls of an answer while they arrive.
#[derive(Debug, Default)]
pub(crate) struct Slots {
    slots: Vec<Slot>,
}

#[derive(Debug)]
struct Slot {
    index: Option<u64>,
    id: String,
    item_id: Option<String>,
    name: String,
    arguments: String,
    overflown: bool,
    extra_content: Option<Value>,
    announced: bool,
}

/// A piece of a call.
#[derive(Debug, Default)]
pub(crate) struct CallPiece<'a> {
    /// Which call of the answer, as the provider counts.
    pub(crate) index: Option<u64>,
    /// Its id; empty if the piece does not say.
    pub(crate) id: &'a str,
    /// Id of its item, in the responses format.
    pub(crate) item_id: Option<&'a str>,
    /// Its tool; empty if the piece does not say.
    pub(crate) name: &'a str,
    /// More of its arguments.
    pub(crate) arguments: &'a str,
    /// Something to send back with it.
    pub(crate) extra_content: Option<&'a Value>,
}

impl Slots {
    /// Adds a piece. A different id at a used index is another call: some servers count every call
    /// as number 0.
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
            self.slots.push(Slot {
                index: piece.index,
                id: String::new(),
                item_id: None,
                name: String::new(),
                arguments: String::new(),
                overflown: false,
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
            slot.overflown = true;
            slot.arguments = String::new();
        } else if !slot.overflown {
            slot.arguments.push_str(piece.arguments);
        }
        if !slot.announced && !slot.name.is_empty() {
            slot.announced = true;
            sink(StreamEvent::ToolCall {
                name: slot.name.clone(),
            });
        }
    }

    /// Puts complete arguments in the place of the pieces of one call.
    pub(crate) fn set_arguments(&mut self, index: u64, arguments: &str) {
        let slot = self
            .slots
            .iter_mut()
            .rfind(|slot| slot.index == Some(index));
        if let Some(slot) = slot {
            slot.overflown = arguments.len() > MAX_ARGUMENTS;
            slot.arguments = if slot.overflown {
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

    /// The calls, and whether the arguments of all of them are whole.
    pub(crate) fn finish(self) -> (Vec<ToolCall>, bool) {
        let mut whole = true;
        let named = self
            .slots
            .into_iter()
            .filter(|slot| !slot.name.is_empty() || !slot.arguments.is_empty());
        let calls = named.enumerate().map(|(at, slot)| {
            let repaired = repair_arguments(&slot.arguments).filter(|_| !slot.overflown);
            whole &= repaired.is_some();
            ToolCall {
                id: if slot.id.is_empty() {
                    made_up_id(at)
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

/// An id for a call whose server gave none. Results are matched by it.
fn made_up_id(at: usize) -> String {
    format!("call_{:016x}", RandomState::new().hash_one(at))
}

/// The finish of an answer, given what the provider said and what came.
fn settled_finish(said: Finish, calls: &[ToolCall], whole: bool) -> Finish {
    match said {
        _ if !whole => Finish::Length,
        Finish::Stop if !calls.is_empty() => Finish::ToolCalls,
        Finish::ToolCalls if calls.is_empty() => Finish::Stop,
        other => other,
    }
}

/// Appends, up to the cap.
pub(crate) fn append_capped(text: &mut String, more: &str) {
    if text.len() + more.len() <= MAX_TEXT {
        text.push_str(more);
    }
}
