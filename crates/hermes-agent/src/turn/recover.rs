//! Handles provider errors that remain after retries, and conversations that become too long.

use std::time::Duration;

use hermes_providers::{ModelRequest, ProviderError};

use super::attempts;
use super::machine::{NextStep, Turn};
use super::result::{ExitReason, TurnFailure};
use crate::Result;
use crate::compaction::{Compacted, Need};

/// Tokens left free below the room stated by the provider.
const OUTPUT_MARGIN: u64 = 64;
/// Minimum room for the answer; with less the conversation is compacted.
const MIN_ROOM: u64 = 1_024;
/// Pause between two compactions of one turn.
const PAUSE: Duration = Duration::from_secs(2);

impl Turn<'_> {
    /// The next request and its estimated tokens, after compacting the conversation if it is too long.
    pub(super) fn make_room(&mut self) -> Result<(ModelRequest, u64)> {
        loop {
            let request = self.request();
            let tokens = request.estimated_tokens();
            let may_compact = self.attempts.compactions < attempts::COMPACTIONS;
            if !may_compact || !self.agent.is_too_long(tokens) || self.is_interrupted() {
                return Ok((request, tokens));
            }
            let need = Need::Automatic { request: tokens };
            match self.agent.compact(need, self.observer)? {
                Compacted::Done => {
                    self.attempts.compactions += 1;
                    self.room = None;
                }
                Compacted::Unchanged | Compacted::TooShort => return Ok((request, tokens)),
            }
        }
    }

    pub(super) fn recover(&mut self, error: &ProviderError) -> Result<NextStep> {
        if let Some(room) = error.available_output
            && room >= MIN_ROOM
            && self.attempts.output_caps < attempts::OUTPUT_CAPS
        {
            self.attempts.output_caps += 1;
            let room = room.saturating_sub(OUTPUT_MARGIN);
            self.room = Some(u32::try_from(room).unwrap_or(u32::MAX));
            self.steps_left += 1;
            return Ok(NextStep::Request);
        }
        if error.class.wants_compaction() || error.available_output.is_some() {
            return self.compact_after(error);
        }
        self.fail(error)
    }

    fn compact_after(&mut self, error: &ProviderError) -> Result<NextStep> {
        if let Some(limit) = error.stated_limit {
            let window = self.agent.provider.route().context_length;
            if limit < window {
                self.agent.provider.adopt_context_length(limit);
                self.notice(format!(
                    "The provider states a context window of {limit} tokens instead of {window}; using it from \
                     now on."
                ));
            }
        }
        if self.attempts.compactions >= attempts::COMPACTIONS {
            return Ok(exhausted(error));
        }
        if self.attempts.compactions > 0 && self.agent.context.interrupt.wait(PAUSE) {
            self.steps_left += 1;
            return Ok(NextStep::Request);
        }
        match self.agent.compact(Need::Forced, self.observer)? {
            Compacted::Done => {
                self.attempts.compactions += 1;
                self.room = None;
                self.steps_left += 1;
                Ok(NextStep::Request)
            }
            Compacted::Unchanged | Compacted::TooShort => Ok(exhausted(error)),
        }
    }

    /// Ends the turn; text so far is stored.
    fn fail(&mut self, error: &ProviderError) -> Result<NextStep> {
        let failure = TurnFailure::from(error);
        let carried = std::mem::take(&mut self.carried);
        Ok(match self.store_partial_answer(&carried, "length")? {
            Some(text) => NextStep::partial(ExitReason::PartialStream, Some(text), failure),
            None => NextStep::failed(ExitReason::AllRetriesExhausted, failure),
        })
    }
}

fn exhausted(error: &ProviderError) -> NextStep {
    let mut failure = TurnFailure::from(error);
    failure.message = format!(
        "the conversation does not fit into the context window and cannot be compacted further: {error}"
    );
    NextStep::failed(ExitReason::CompressionExhausted, failure)
}
