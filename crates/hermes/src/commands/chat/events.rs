//! The events of `chat -q --json`: one JSON object per line of standard output, each with a `type`.
//! `docs/chat-events.md` describes them; programs rely on it.

use hermes_agent::{TurnEvent, TurnObserver, TurnOutcome, TurnResult};
use hermes_providers::StreamEvent;
use hermes_runtime::Conversation;
use serde_json::{Value, json};

use crate::error::Result;
use crate::ui::Printer;

/// Prints events.
pub(super) struct Events {
    printer: Printer,
    /// What went wrong first; nothing is printed after it.
    printed: Result<()>,
}

impl Events {
    pub(super) fn new(printer: Printer) -> Self {
        Self {
            printer,
            printed: Ok(()),
        }
    }

    /// The first event: which conversation it is.
    pub(super) fn session(&mut self, conversation: &mut Conversation) {
        let resumed = conversation.resumed().is_some();
        let agent = conversation.agent();
        let route = agent.provider().route();
        self.print(&json!({
            "type": "session",
            "session_id": agent.session_id().as_str(),
            "model": route.model,
            "provider": route.provider,
            "resumed": resumed,
        }));
    }

    /// The last event: what came of the turn.
    pub(super) fn result(&mut self, result: &TurnResult) {
        let usage = result.usage;
        let mut event = json!({
            "type": "result",
            "outcome": outcome(result.outcome),
            "answer": result.final_response,
            "session_id": result.session_id.as_str(),
            "model": result.route.model,
            "provider": result.route.provider,
            "turn_exit_reason": result.exit_reason.name(),
            "api_calls": result.api_calls,
            "usage": {
                "input_tokens": usage.input,
                "output_tokens": usage.output,
                "cache_read_tokens": usage.cache_read,
                "cache_write_tokens": usage.cache_write,
                "reasoning_tokens": usage.reasoning,
                "total_tokens": usage.total(),
            },
            "estimated_cost_usd": result.cost.usd(),
            "cost_status": result.cost.status(),
            "unwritten_files": result.unwritten_files,
        });
        if let Some(failure) = &result.failure {
            event["failure"] = json!({
                "reason": failure.reason,
                "message": failure.message,
                "hint": failure.hint,
            });
        }
        self.print(&event);
    }

    /// Whether everything could be printed.
    pub(super) fn finish(self) -> Result<()> {
        self.printed
    }

    fn print(&mut self, event: &Value) {
        if self.printed.is_ok() {
            self.printed = self.printer.json_line(event);
        }
    }
}

fn outcome(outcome: TurnOutcome) -> &'static str {
    match outcome {
        TurnOutcome::Completed => "completed",
        TurnOutcome::Partial => "partial",
        TurnOutcome::Failed => "failed",
        TurnOutcome::Interrupted => "interrupted",
    }
}

impl TurnObserver for Events {
    fn on(&mut self, event: TurnEvent<'_>) {
        let event = match event {
            TurnEvent::Stream(StreamEvent::Text(text)) => json!({"type": "text", "text": text}),
            TurnEvent::Stream(StreamEvent::Reasoning(text)) => {
                json!({"type": "reasoning", "text": text})
            }
            TurnEvent::Stream(StreamEvent::Restart) => json!({"type": "restart"}),
            TurnEvent::Stream(StreamEvent::Waiting { seconds, reason }) => {
                json!({"type": "retry", "seconds": seconds, "reason": reason})
            }
            TurnEvent::Stream(StreamEvent::Switched(message)) | TurnEvent::Notice(message) => {
                json!({"type": "notice", "message": message})
            }
            // The call itself follows once its arguments are complete.
            TurnEvent::Stream(StreamEvent::ToolCall { .. }) | TurnEvent::Stored => return,
            TurnEvent::Calling {
                tool, arguments, ..
            } => {
                json!({"type": "tool_call", "tool": tool, "arguments": arguments})
            }
            TurnEvent::Called {
                tool, result, took, ..
            } => {
                let result = serde_json::from_str(result).unwrap_or_else(|_| json!(result));
                let seconds = took.as_secs_f64();
                json!({"type": "tool_result", "tool": tool, "result": result, "seconds": seconds})
            }
        };
        self.print(&event);
    }
}
