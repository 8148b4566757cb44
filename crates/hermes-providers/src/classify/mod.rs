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
use phrases::any;
use report::ErrorReport;

/// What an error response says, in one line.
pub(crate) fn error_message(body: &str) -> String {
    ErrorReport::of_body(body).message
}

/// Size of the refused request.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct RequestSize {
    pub(crate) tokens: u64,
    pub(crate) messages: usize,
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
    failure(&ErrorReport::of_body(body), Some(head), size)
}

/// Classifies an error inside a stream.
pub(crate) fn classify_body(error: &Value) -> ProviderError {
    failure(&ErrorReport::of_error(error), None, RequestSize::default())
}

/// The message of a body, one line.
pub(crate) fn message_of(body: &str) -> String {
    ErrorReport::of_body(body).message
}

fn failure(report: &ErrorReport, head: Option<&Head>, size: RequestSize) -> ProviderError {
    let status = head.map_or(report.status, |head| Some(head.status));
    let class = rules::class(status, report, size);
    let now = SystemTime::now();
    let overflow = class == ErrorClass::ContextOverflow;
    let available_output = limits::available_output(&report.all).filter(|_| overflow);
    let stated_limit =
        limits::stated_window(&report.all).filter(|_| overflow && available_output.is_none());
    ProviderError::from(ProviderFailure {
        status,
        retry_after: reset::retry_after(head, report, now),
        reset_at: reset::reset_at(head, report, now),
        stated_limit,
        available_output,
        ..ProviderFailure::new(class, report.message.clone())
    })
}

/// Whether a refusal is about the reasoning effort field.
pub(crate) fn is_about_effort(error: &ProviderFailure) -> bool {
    let text = error.message.to_lowercase();
    error.class == ErrorClass::FormatError && any(&text, phrases::EFFORT_FIELDS)
}

/// Whether a refusal says that streaming is not supported.
pub(crate) fn is_about_streaming(error: &ProviderFailure) -> bool {
    let text = error.message.to_lowercase();
    matches!(error.status, Some(400..=499 | 501))
        && text.contains("stream")
        && any(&text, phrases::NOT_SUPPORTED)
}

#[cfg(test)]
#[path = "classify_tests.rs"]
mod tests;
