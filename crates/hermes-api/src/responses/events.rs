//! A response as a stream of events.

use std::sync::Arc;

use bytes::Bytes;
use hermes_agent::TurnResult;
use serde_json::{Value, json};

use super::items::{call_item, message_item, result_item, shorten};
use super::record::ResponseRecord;
use crate::app::App;
use crate::http::event;
use crate::outcome::Outcome;
use crate::turn::{Format, Update};

/// Writes events with gapless numbers, and stores the response at its beginning and its end.
pub(super) struct ResponseFormat {
    pub(super) app: Arc<App>,
    pub(super) record: ResponseRecord,
    pub(super) sequence: u64,
    /// The items as they were last told, by their positions.
    pub(super) items: Vec<Value>,
    /// Calls without a result: id of the call, of its item, position, tool, arguments.
    pub(super) open: Vec<OpenCall>,
    /// The message that is being written: its id and position.
    pub(super) message: Option<(String, usize)>,
    pub(super) text: String,
    pub(super) is_over: bool,
}

pub(super) struct OpenCall {
    call_id: String,
    item_id: String,
    index: usize,
    tool: String,
    arguments: Value,
}

impl ResponseFormat {
    pub(super) fn new(app: Arc<App>, record: ResponseRecord) -> Self {
        Self {
            app,
            record,
            sequence: 0,
            items: Vec::new(),
            open: Vec::new(),
            message: None,
            text: String::new(),
            is_over: false,
        }
    }

    fn event(&mut self, kind: &str, mut data: Value) -> Bytes {
        data["type"] = json!(kind);
        data["sequence_number"] = json!(self.sequence);
        self.sequence += 1;
        event(Some(kind), &data)
    }

    /// Tells of a new item and gives its position.
    fn add(&mut self, item: Value, events: &mut Vec<Bytes>) -> usize {
        let index = self.items.len();
        let added = json!({"output_index": index, "item": item});
        self.items.push(item);
        events.push(self.event("response.output_item.added", added));
        index
    }

    /// Tells that an item is complete.
    fn complete(&mut self, index: usize, item: Value, events: &mut Vec<Bytes>) {
        let done = json!({"output_index": index, "item": item});
        if let Some(place) = self.items.get_mut(index) {
            *place = item;
        }
        events.push(self.event("response.output_item.done", done));
    }

    /// The items as the response holds them: those that were told, with the same ids.
    fn shortened(&mut self) -> Vec<Value> {
        let mut items = std::mem::take(&mut self.items);
        items.iter_mut().for_each(shorten);
        items
    }

    fn text(&mut self, text: &str, events: &mut Vec<Bytes>) {
        let (item_id, index) = match &self.message {
            Some((id, index)) => (id.clone(), *index),
            None => {
                let id = format!("msg_{}", hermes_fs::random_hex(24));
                let item = message_item(Some(&id), "", "in_progress");
                let index = self.add(item, events);
                self.message = Some((id.clone(), index));
                let part = json!({
                    "item_id": id, "output_index": index, "content_index": 0,
                    "part": {"type": "output_text", "text": "", "annotations": []},
                });
                events.push(self.event("response.content_part.added", part));
                (id, index)
            }
        };
        self.text.push_str(text);
        let delta = json!({
            "item_id": item_id, "output_index": index, "content_index": 0,
            "delta": text, "logprobs": [],
        });
        events.push(self.event("response.output_text.delta", delta));
    }

    fn end_message(&mut self, events: &mut Vec<Bytes>) {
        let Some((id, index)) = self.message.take() else {
            return;
        };
        let text = self.text.clone();
        let done = json!({
            "item_id": id, "output_index": index, "content_index": 0,
            "text": text, "logprobs": [],
        });
        events.push(self.event("response.output_text.done", done));
        let part = json!({
            "item_id": id, "output_index": index, "content_index": 0,
            "part": {"type": "output_text", "text": text, "annotations": []},
        });
        events.push(self.event("response.content_part.done", part));
        let item = message_item(Some(&id), &text, "completed");
        self.complete(index, item, events);
    }

    fn called(&mut self, id: &str, result: &str, events: &mut Vec<Bytes>) {
        let Some(at) = self.open.iter().position(|call| call.call_id == id) else {
            return;
        };
        let call = self.open.remove(at);
        let item = call_item(Some(&call.item_id), id, &call.tool, &call.arguments, true);
        self.complete(call.index, item, events);
        let item = result_item(id, result);
        let index = self.add(item.clone(), events);
        self.complete(index, item, events);
    }
}

impl Format for ResponseFormat {
    const IS_BATCHED: bool = true;

    fn update(&mut self, update: Update<'_>, events: &mut Vec<Bytes>) {
        match update {
            Update::Began { session } => {
                self.record.session_id = Some(session.to_owned());
                let response = self.record.envelope("in_progress", Vec::new(), None);
                self.record.store(&self.app, response.clone(), "");
                let created = json!({"response": response});
                events.push(self.event("response.created", created));
            }
            Update::Text(text) => self.text(text, events),
            Update::Reasoning(_) => {}
            Update::Calling {
                id,
                tool,
                arguments,
            } => {
                let item_id = format!("fc_{}", hermes_fs::random_hex(24));
                let item = call_item(Some(&item_id), id, tool, arguments, false);
                let call = OpenCall {
                    call_id: id.to_owned(),
                    item_id,
                    index: self.add(item, events),
                    tool: tool.to_owned(),
                    arguments: arguments.clone(),
                };
                self.open.push(call);
            }
            Update::Called { id, result, .. } => self.called(id, result, events),
        }
    }

    fn finish(mut self, result: &TurnResult, events: &mut Vec<Bytes>) {
        let outcome = Outcome::of(result);
        if self.text.is_empty() && !outcome.text.is_empty() {
            self.text(&outcome.text, events);
        }
        self.end_message(events);
        let text = std::mem::take(&mut self.text);
        let status = super::record::status(&outcome);
        let said = if outcome.text.is_empty() {
            text.as_str()
        } else {
            outcome.text.as_str()
        };
        let items = self.shortened();
        let response = self.record.envelope(status, items, Some(&outcome));
        self.record.store(&self.app, response.clone(), said);
        self.is_over = true;
        let kind = match status {
            "failed" => "response.failed",
            "incomplete" => "response.incomplete",
            _ => "response.completed",
        };
        events.push(self.event(kind, json!({"response": response})));
    }
}

impl Drop for ResponseFormat {
    /// A turn that broke off is stored as it stood.
    fn drop(&mut self) {
        if !self.is_over && self.sequence > 0 {
            let text = std::mem::take(&mut self.text);
            if let Some((id, index)) = self.message.take()
                && let Some(place) = self.items.get_mut(index)
            {
                *place = message_item(Some(&id), &text, "incomplete");
            }
            let items = self.shortened();
            let response = self.record.envelope("incomplete", items, None);
            self.record.store(&self.app, response, &text);
        }
    }
}
