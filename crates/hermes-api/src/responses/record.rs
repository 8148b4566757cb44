//! One response: what it says of itself, and what is stored of it.

use serde_json::{Value, json};

use crate::app::App;
use crate::outcome::Outcome;
use crate::response_store::StoredResponse;

/// What a response is about, apart from its answer.
#[derive(Debug, Clone)]
pub(super) struct ResponseRecord {
    pub(super) id: String,
    pub(super) created_at: u64,
    pub(super) model: String,
    pub(super) instructions: Option<String>,
    pub(super) conversation: Option<String>,
    pub(super) previous: Option<String>,
    /// Whether it is to be stored.
    pub(super) is_stored: bool,
    /// Messages before the answer.
    pub(super) history: Vec<Value>,
    pub(super) session_id: Option<String>,
}

impl ResponseRecord {
    pub(super) fn envelope(
        &self,
        status: &str,
        output: Vec<Value>,
        outcome: Option<&Outcome>,
    ) -> Value {
        let error = outcome.filter(|_| status == "failed").map(|outcome| {
            let message = outcome.error.as_deref().unwrap_or("the turn failed");
            json!({"code": "server_error", "message": message})
        });
        let details = match (status, outcome) {
            ("incomplete", Some(outcome)) if outcome.finish_reason == "length" => {
                json!({"reason": "max_output_tokens"})
            }
            ("incomplete", _) => json!({"reason": "interrupted"}),
            _ => Value::Null,
        };
        json!({
            "id": self.id,
            "object": "response",
            "status": status,
            "created_at": self.created_at,
            "model": self.model,
            "output": output,
            "usage": outcome.map(Outcome::usage),
            "error": error,
            "incomplete_details": details,
            "instructions": self.instructions,
            "previous_response_id": self.previous,
            "metadata": {},
            "parallel_tool_calls": true,
            "tool_choice": "auto",
            "tools": [],
            "temperature": null,
            "top_p": null,
            "store": self.is_stored,
        })
    }

    /// Stores the response, if that is wanted. A failure is logged: the answer is there.
    pub(super) fn store(&self, app: &App, response: Value, said: &str) {
        if !self.is_stored {
            return;
        }
        let mut history = self.history.clone();
        if !said.is_empty() {
            history.push(json!({"role": "assistant", "content": said}));
        }
        let stored = StoredResponse {
            response,
            history,
            instructions: self.instructions.clone(),
            session_id: self.session_id.clone(),
        };
        let home = app.context().location.home.clone();
        let conversation = self.conversation.as_deref();
        if let Err(error) = app.responses.put(&home, &self.id, &stored, conversation) {
            tracing::warn!(reason = error.message(), "a response was not stored");
        }
    }
}

/// The status of a response whose turn ended like this.
pub(super) fn status(outcome: &Outcome) -> &'static str {
    if outcome.failed {
        "failed"
    } else if outcome.interrupted || outcome.finish_reason == "length" {
        "incomplete"
    } else {
        "completed"
    }
}
