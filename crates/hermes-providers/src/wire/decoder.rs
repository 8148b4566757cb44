//! What every wire format's decoder does: take events, end up with a response.

use std::hash::{BuildHasher, RandomState};

use serde_json::Value;

use super::arguments::repair_arguments;
use crate::error::ProviderError;
use crate::message::ToolCall;
use crate::response::{Finish, Response, StreamEvent};

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

    /// Whether text of the answer came.
    fn has_text(&self) -> bool;

    /// Whether anything at all came.
    fn has_anything(&self) -> bool;

    /// Names of the calls that have begun.
    fn calls_begun(&self) -> Vec<String>;

    /// The response, complete or as far as it came; `None` if there was nothing that could be one.
    fn finish(self: Box<Self>) -> Option<Decoded>;
}

/// A response and what its calls look like.
pub(crate) struct Decoded {
    /// The response.
    pub(crate) response: Response,
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

    /// Names of the calls so far.
    pub(crate) fn names(&self) -> Vec<String> {
        self.slots.iter().map(|slot| slot.name.clone()).collect()
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
pub(crate) fn settled_finish(said: Finish, calls: &[ToolCall], whole: bool) -> Finish {
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
