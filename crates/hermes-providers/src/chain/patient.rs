//! Patience for a provider without keys and without a fallback: what passes is waited for.

use std::time::SystemTime;

use hermes_proc::Wake;

use super::decide::{Standing, Step, step};
use crate::error::ProviderError;
use crate::provider::{Provider, RouteInfo};
use crate::request::Request;
use crate::response::{Response, StreamEvent};

/// A provider that is asked again after errors that pass.
pub(crate) struct Patient<P> {
    inner: P,
    most_attempts: u32,
}

impl<P: Provider> Patient<P> {
    /// Asks `inner` up to so many times.
    pub(crate) fn new(inner: P, most_attempts: u32) -> Self {
        Self {
            inner,
            most_attempts: most_attempts.max(1),
        }
    }
}

impl<P: Provider> Provider for Patient<P> {
    fn complete(
        &self,
        request: &Request,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<Response, ProviderError> {
        let mut history = Vec::new();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let mut error = match self.inner.complete(request, sink, interrupt) {
                Ok(response) => return Ok(response),
                Err(error) => error,
            };
            history.push(error.to_string());
            let standing = Standing {
                attempt,
                most: self.most_attempts,
                keys: 0,
                slowed: attempt,
                has_fallback: false,
                // There is no connection to make anew.
                reconnected: true,
            };
            match step(&error, standing, SystemTime::now()) {
                Step::Wait(pause) | Step::Reconnect(pause) => {
                    sink(StreamEvent::Waiting {
                        seconds: pause.as_secs_f64(),
                        reason: error.to_string(),
                    });
                    if interrupt.wait(pause) {
                        return Err(ProviderError::interrupted());
                    }
                }
                Step::Rotate | Step::Fallback | Step::GiveUp => {
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
