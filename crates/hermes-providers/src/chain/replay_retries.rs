//! Retries for the replay provider, which has neither keys nor fallback routes.

use std::time::SystemTime;

use hermes_proc::Wake;

use super::retry_decision::{AttemptState, RetryDecision, decide};
use crate::error::ProviderError;
use crate::provider::{Provider, RouteInfo};
use crate::replay::Replay;
use crate::request::ModelRequest;
use crate::response::{ModelResponse, StreamEvent};

/// The replay provider, with its transient errors retried.
pub(crate) struct ReplayRetries {
    pub(crate) replay: Replay,
    /// At least 1.
    pub(crate) max_attempts: u32,
}

impl Provider for ReplayRetries {
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
            let mut error = match self.replay.complete(request, sink, interrupt) {
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
        self.replay.route()
    }
}
