//! Classifying error responses by status, headers and body.
//!
//! Pure functions over text. The order of rules matters: a refusal for safety reasons has the same
//! status as a syntax error.

pub(crate) mod limits;
mod phrases;
mod report;
mod reset;
mod rules;

use std::time::SystemTime;

use serde_json::Value;

use crate::error::{ErrorClass, ProviderError, ProviderFailure};
use crate::http::Head;
use report::ErrorReport;

/// Size of the refused request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestSize {
    /// Estimated tokens.
    pub(crate) tokens: u64,
    /// Number of messages.
    pub(crate) messages: usize,
    /// Context window of the model.
    pub(crate) window: u64,
}

impl RequestSize {
    /// Whether a long conversation is the likely cause of a refusal without a reason.
    fn explains_a_bare_refusal(self) -> bool {
        self.share_above(4)
            || (self.window <= 256_000 && (self.tokens > 80_000 || self.messages > 80))
    }

    /// Whether a long conversation is the likely cause of a closed connection.
    pub(crate) fn explains_a_disconnect(self) -> bool {
        self.share_above(6)
            || (self.window <= 256_000 && (self.tokens > 120_000 || self.messages > 200))
    }

    /// Whether more than `tenths` tenths of the window are used.
    fn share_above(self, tenths: u64) -> bool {
        self.window > 0 && self.tokens.saturating_mul(10) > self.window.saturating_mul(tenths)
    }
}

/// Classifies an error response.
pub(crate) fn classify(head: &Head, body: &str, size: RequestSize) -> ProviderError {
    let report = ErrorReport::of_body(body);
    let class = rules::class(Some(head.status), &report, size);
    let now = SystemTime::now();
    with_limits(
        ProviderFailure {
            status: Some(head.status),
            retry_after: reset::retry_after(head, &report, now),
            reset_at: reset::reset_at(head, &report, now),
            ..ProviderFailure::new(class, report.message.clone())
        },
        &report,
    )
}

/// Classifies an error inside a stream.
pub(crate) fn classify_body(error: &Value) -> ProviderError {
    let report = ErrorReport::of_error(error);
    let class = rules::class(report.status, &report, RequestSize::default());
    let now = SystemTime::now();
    with_limits(
        ProviderFailure {
            status: report.status,
            retry_after: reset::retry_after_in(&report),
            reset_at: reset::reset_at_in(&report, now),
            ..ProviderFailure::new(class, report.message.clone())
        },
        &report,
    )
}

fn with_limits(failure: ProviderFailure, report: &ErrorReport) -> ProviderError {
    let overflow = failure.class == ErrorClass::ContextOverflow;
    let available = limits::available_output(&report.all).filter(|_| overflow);
    let stated = limits::stated_window(&report.all).filter(|_| overflow && available.is_none());
    ProviderFailure {
        stated_limit: stated,
        available_output: available,
        ..failure
    }
    .into()
}

/// Whether a refusal is about the reasoning effort field.
pub(crate) fn is_about_effort(error: &ProviderFailure) -> bool {
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

/// Whether a refusal says that streaming is not supported.
pub(crate) fn is_about_streaming(error: &ProviderFailure) -> bool {
    let text = error.message.to_lowercase();
    let negated = ["not support", "unsupported", "not allowed", "not available"]
        .iter()
        .any(|phrase| text.contains(phrase));
    matches!(error.status, Some(400..=499 | 501)) && text.contains("stream") && negated
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
