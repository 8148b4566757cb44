//! Retries for a provider without keys and without fallback routes.

use std::time::SystemTime;

use hermes_proc::Wake;

use super::retry_decision::{AttemptState, RetryDecision, decide};
use crate::error::ProviderError;
use crate::provider::{Provider, RouteInfo};
use crate::request::ModelRequest;
use crate::response::{ModelResponse, StreamEvent};

/// A provider whose transient errors are retried.
pub(crate) struct ReplayRetries<P> {
    inner: P,
    max_attempts: u32,
}

impl<P: Provider> ReplayRetries<P> {
    /// Asks `inner` up to `max_attempts` times.
    pub(crate) fn new(inner: P, max_attempts: u32) -> Self {
        Self {
            inner,
            max_attempts: max_attempts.max(1),
        }
    }
}

impl<P: Provider> Provider for ReplayRetries<P> {
    fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<ModelResponse, ProviderError> {
        let mut history = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut error = match self.inner.complete(request, sink, interrupt) {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            history.push(error.to_string());
            let state = AttemptState {
                attempt,
                max_attempts: self.max_attempts,
                keys: 0,
                rate_limited: attempt,
                has_fallback: false,
                // There is no connection to reopen.
                reconnected: true,
            };
            match decide(&error, state, SystemTime::now()) {
                RetryDecision::Wait(pause) | RetryDecision::Reconnect(pause) => {
                    sink(StreamEvent::Waiting {
                        seconds: pause.as_secs_f64(),
                        reason: error.to_string(),
                    });
                    if interrupt.wait(pause) {
                        return Err(ProviderError::interrupted());
                    }
                }
                RetryDecision::Rotate | RetryDecision::Fallback | RetryDecision::GiveUp => {
                    error.attempts = attempt;
                    error.history = history;
                    return Err(error);
                }
            }
        }
    }

    fn route(&self) -> RouteInfo {
        self.inner.route()
    }

    fn begin_turn(&self) {
        self.inner.begin_turn();
    }

    fn give_up_on_route(&self, why: &str, sink: &mut dyn FnMut(StreamEvent)) -> bool {
        self.inner.give_up_on_route(why, sink)
    }

    fn adopt_context_length(&self, tokens: u64) {
        self.inner.adopt_context_length(tokens);
    }
}
