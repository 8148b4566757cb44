//! The end of a turn in the words of the wire formats.

use hermes_agent::{ExitReason, TurnOutcome, TurnResult};
use hermes_providers::TokenUsage;
use serde_json::{Value, json};

/// How a turn ended, as clients are told.
#[derive(Debug, Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the wire format has each of them"
)]
pub(crate) struct Outcome {
    pub(crate) text: String,
    pub(crate) finish_reason: &'static str,
    pub(crate) completed: bool,
    pub(crate) partial: bool,
    pub(crate) failed: bool,
    pub(crate) interrupted: bool,
    pub(crate) error: Option<String>,
    pub(crate) usage: TokenUsage,
}

impl Outcome {
    pub(crate) fn of(result: &TurnResult) -> Self {
        let failure = result.failure.as_ref().map(|failure| match &failure.hint {
            Some(hint) => format!("{} ({hint})", failure.message),
            None => failure.message.clone(),
        });
        let is_cut = matches!(
            result.exit_reason,
            ExitReason::Truncated | ExitReason::PartialStream | ExitReason::TextResponse("length")
        );
        let (completed, partial, failed, interrupted) = match result.outcome {
            TurnOutcome::Completed => (true, false, false, false),
            TurnOutcome::Partial => (false, true, false, false),
            TurnOutcome::Failed => (false, false, true, false),
            TurnOutcome::Interrupted => (false, true, false, true),
        };
        let error = failure.or_else(|| match result.outcome {
            TurnOutcome::Partial if is_cut => Some("the answer was cut off".to_owned()),
            TurnOutcome::Completed | TurnOutcome::Partial => None,
            TurnOutcome::Failed => Some("the turn failed".to_owned()),
            TurnOutcome::Interrupted => Some("the turn was interrupted".to_owned()),
        });
        let finish_reason = if is_cut {
            "length"
        } else if failed || interrupted || !completed && error.is_some() {
            "error"
        } else {
            "stop"
        };
        Self {
            text: result.final_response.clone().unwrap_or_default(),
            finish_reason,
            completed,
            partial,
            failed,
            interrupted,
            error,
            usage: result.usage,
        }
    }

    /// Whether there is nothing to answer with.
    pub(crate) fn is_without_answer(&self) -> bool {
        self.text.is_empty() && (self.failed || self.partial)
    }

    /// What is said about a turn that did not complete.
    pub(crate) fn hermes(&self) -> Value {
        let code = match self.finish_reason {
            "length" => "output_truncated",
            _ => "agent_error",
        };
        json!({
            "completed": self.completed,
            "partial": self.partial,
            "failed": self.failed,
            "error": self.error,
            "error_code": code,
        })
    }

    /// Tokens as chat completions count them.
    pub(crate) fn chat_usage(&self) -> Value {
        json!({
            "prompt_tokens": self.usage.prompt(),
            "completion_tokens": self.usage.output,
            "total_tokens": self.usage.prompt() + self.usage.output,
            "prompt_tokens_details": {"cached_tokens": self.usage.cache_read},
            "completion_tokens_details": {"reasoning_tokens": self.usage.reasoning},
        })
    }

    /// Tokens as everything else counts them.
    pub(crate) fn usage(&self) -> Value {
        json!({
            "input_tokens": self.usage.prompt(),
            "output_tokens": self.usage.output,
            "total_tokens": self.usage.prompt() + self.usage.output,
            "input_tokens_details": {"cached_tokens": self.usage.cache_read},
            "output_tokens_details": {"reasoning_tokens": self.usage.reasoning},
        })
    }
}
