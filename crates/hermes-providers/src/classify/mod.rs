//! Sorting refusals: what status, headers and body of an answer mean.
//!
//! Pure functions over text. The order matters: a provider that declines for safety says so with the
//! same status as one that misses a comma.

mod limits;
mod phrases;
mod report;
mod reset;
mod rules;

use std::time::SystemTime;

use serde_json::Value;

use crate::error::{ErrorClass, Failure, ProviderError};
use crate::http::Head;
use report::Report;

/// How large the refused request was.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Size {
    /// Its tokens, estimated.
    pub(crate) tokens: u64,
    /// Its messages.
    pub(crate) messages: usize,
    /// The window it was made for.
    pub(crate) window: u64,
}

impl Size {
    /// Whether a refusal without a reason is best explained by the length of the conversation.
    fn explains_a_bare_refusal(self) -> bool {
        self.share_above(4)
            || (self.window <= 256_000 && (self.tokens > 80_000 || self.messages > 80))
    }

    /// Whether a connection closed without a word is.
    pub(crate) fn explains_a_disconnect(self) -> bool {
        self.share_above(6)
            || (self.window <= 256_000 && (self.tokens > 120_000 || self.messages > 200))
    }

    /// Whether more than so many tenths of the window are used.
    fn share_above(self, tenths: u64) -> bool {
        self.window > 0 && self.tokens.saturating_mul(10) > self.window.saturating_mul(tenths)
    }
}

/// What an answer that is no success means.
pub(crate) fn classify(head: &Head, body: &str, size: Size) -> ProviderError {
    let report = Report::of_body(body);
    let class = rules::class(Some(head.status), &report, size);
    let now = SystemTime::now();
    finished(
        Failure {
            status: Some(head.status),
            retry_after: reset::retry_after(head, &report, now),
            reset_at: reset::reset_at(head, &report, now),
            ..Failure::new(class, report.message.clone())
        },
        &report,
    )
}

/// What an error inside a stream means.
pub(crate) fn classify_body(error: &Value) -> ProviderError {
    let report = Report::of_error(error);
    let class = rules::class(report.status, &report, Size::default());
    let now = SystemTime::now();
    finished(
        Failure {
            status: report.status,
            retry_after: reset::retry_after_in(&report),
            reset_at: reset::reset_at_in(&report, now),
            ..Failure::new(class, report.message.clone())
        },
        &report,
    )
}

fn finished(failure: Failure, report: &Report) -> ProviderError {
    let overflow = failure.class == ErrorClass::ContextOverflow;
    let available = limits::available_output(&report.all).filter(|_| overflow);
    let stated = limits::stated_window(&report.all).filter(|_| overflow && available.is_none());
    Failure {
        stated_limit: stated,
        available_output: available,
        ..failure
    }
    .into()
}

/// Whether a refusal names the field that says how much to think.
pub(crate) fn is_about_effort(error: &Failure) -> bool {
    let text = error.message.to_lowercase();
    let field = [
        "reasoning_effort",
        "reasoning.effort",
        "'reasoning'",
        "`think`",
    ]
    .iter()
    .any(|field| text.contains(field));
    error.class == ErrorClass::FormatError && field
}

/// Whether a refusal says that answers cannot be streamed.
pub(crate) fn is_about_streaming(error: &Failure) -> bool {
    let text = error.message.to_lowercase();
    let negated = ["not support", "unsupported", "not allowed", "not available"]
        .iter()
        .any(|phrase| text.contains(phrase));
    matches!(error.status, Some(400..=499 | 501)) && text.contains("stream") && negated
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
