//! A turn as the events of a run.

use std::sync::Arc;

use serde_json::json;

use crate::active_runs::Run;
use crate::app::App;
use crate::outcome::Outcome;
use crate::preview::preview;
use crate::turn::{StopCause, TurnEnd, TurnSink, Update};

/// Longest reasoning in an event.
const MOST_REASONING: usize = 2_000;

pub(super) struct RunSink {
    pub(super) app: Arc<App>,
    pub(super) run: Arc<Run>,
    /// Thoughts that were not told yet.
    pub(super) reasoning: String,
}

impl RunSink {
    fn tell_reasoning(&mut self) {
        let text = std::mem::take(&mut self.reasoning);
        if !text.trim().is_empty() {
            let text = hermes_text::cut(&text, MOST_REASONING);
            self.run.tell("reasoning.available", json!({"text": text}));
        }
    }
}

impl TurnSink for RunSink {
    fn update(&mut self, update: Update<'_>) -> bool {
        match update {
            Update::Reasoning(text) => {
                self.reasoning.push_str(text);
                return true;
            }
            Update::Began { session } => {
                let status = json!({"status": "running", "session_id": session});
                self.run.set(status);
                return true;
            }
            Update::Text(_) | Update::Calling { .. } | Update::Called { .. } => {}
        }
        self.tell_reasoning();
        match update {
            Update::Text(text) => self.run.tell("message.delta", json!({"delta": text})),
            Update::Calling {
                id,
                tool,
                arguments,
            } => {
                let fields =
                    json!({"tool": tool, "tool_call_id": id, "preview": preview(arguments)});
                self.run.tell("tool.started", fields);
            }
            Update::Called {
                id,
                tool,
                result,
                took,
            } => {
                let value = serde_json::from_str(result).unwrap_or_default();
                let duration = (took.as_secs_f64() * 1_000.0).round() / 1_000.0;
                let fields = json!({
                    "tool": tool,
                    "tool_call_id": id,
                    "duration": duration,
                    "error": hermes_tools::is_failure(&value),
                });
                self.run.tell("tool.completed", fields);
            }
            Update::Began { .. } | Update::Reasoning(_) => {}
        }
        true
    }

    fn finish(mut self: Box<Self>, end: TurnEnd) {
        self.tell_reasoning();
        let result = match end {
            Ok(result) => result,
            Err(error) => {
                let fields = json!({"error": error.message()});
                self.run.finish("failed", "run.failed", &fields);
                return;
            }
        };
        let outcome = Outcome::of(&result);
        let cause = self.run.control.cause();
        if outcome.interrupted && cause == Some(StopCause::Server) {
            // The next start goes on with it.
            self.run.suspend();
        } else if outcome.interrupted && cause != Some(StopCause::Silence) {
            self.run.finish("cancelled", "run.cancelled", &json!({}));
        } else if outcome.failed || outcome.interrupted {
            let fields = json!({"error": outcome.error});
            self.run.finish("failed", "run.failed", &fields);
        } else {
            let fields = json!({"output": outcome.text, "usage": outcome.usage()});
            self.run.finish("completed", "run.completed", &fields);
        }
    }
}

impl Drop for RunSink {
    /// A turn that broke off has failed, unless the end of the server has kept it from beginning.
    fn drop(&mut self) {
        if self.run.control.cause() == Some(StopCause::Server) {
            self.run.suspend();
        }
        if !self.run.is_over() {
            let fields = json!({"error": "the run broke off; the log has the reason"});
            self.run.finish("failed", "run.failed", &fields);
        }
        self.app.runs.remove(&self.run.id);
    }
}
