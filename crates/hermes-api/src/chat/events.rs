//! A chat completion as a stream of chunks.

use bytes::Bytes;
use hermes_agent::TurnResult;
use serde_json::{Value, json};

use crate::http::event;
use crate::outcome::Outcome;
use crate::preview::preview;
use crate::turn::{Format, Update};

/// What all chunks of a completion have in common.
#[derive(Debug, Clone)]
pub(super) struct CompletionId {
    pub(super) id: String,
    pub(super) created: u64,
    pub(super) model: String,
}

/// Writes chunks.
pub(super) struct ChatFormat {
    pub(super) completion: CompletionId,
    /// Whether any text was sent.
    pub(super) has_text: bool,
}

impl ChatFormat {
    fn chunk(&self, delta: Value, finish_reason: Option<&str>) -> Value {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": finish_reason});
        self.chunk_with(json!([choice]))
    }

    fn chunk_with(&self, choices: Value) -> Value {
        let CompletionId { id, created, model } = &self.completion;
        json!({
            "id": id,
            "object": "chat.completion.chunk",
            "created": created,
            "model": model,
            "choices": choices,
        })
    }

    /// An event beside the chunks. OpenAI's SDKs take every event for a chunk, whatever its name, so
    /// it is one, without a choice.
    fn progress(&self, mut fields: Value) -> Bytes {
        if let (Value::Object(fields), Value::Object(chunk)) =
            (&mut fields, self.chunk_with(json!([])))
        {
            fields.extend(chunk);
        }
        event(Some("hermes.tool.progress"), &fields)
    }
}

impl Format for ChatFormat {
    fn update(&mut self, update: Update<'_>, events: &mut Vec<Bytes>) {
        match update {
            Update::Began { .. } => {
                let role = json!({"role": "assistant", "content": ""});
                events.push(event(None, &self.chunk(role, None)));
            }
            Update::Text(text) => {
                self.has_text = true;
                events.push(event(None, &self.chunk(json!({"content": text}), None)));
            }
            Update::Reasoning(_) => {}
            Update::Calling {
                id,
                tool,
                arguments,
            } => {
                let progress = json!({
                    "tool": tool,
                    "label": preview(arguments),
                    "toolCallId": id,
                    "status": "running",
                });
                events.push(self.progress(progress));
            }
            Update::Called { id, tool, .. } => {
                let progress = json!({"tool": tool, "toolCallId": id, "status": "completed"});
                events.push(self.progress(progress));
            }
        }
    }

    fn finish(self, result: &TurnResult, events: &mut Vec<Bytes>) {
        let outcome = Outcome::of(result);
        if !self.has_text && !outcome.text.is_empty() {
            let delta = json!({"content": outcome.text});
            events.push(event(None, &self.chunk(delta, None)));
        }
        let mut last = self.chunk(json!({}), Some(outcome.finish_reason));
        last["usage"] = outcome.chat_usage();
        if outcome.finish_reason != "stop" {
            if let Some(error) = &outcome.error {
                last["error"] = json!({"message": error, "type": "agent_error"});
            }
            last["hermes"] = outcome.hermes();
        }
        events.push(event(None, &last));
        events.push(Bytes::from_static(b"data: [DONE]\n\n"));
    }
}
