//! What is done about an error of the provider that retries and other keys did not cure, and about a
//! conversation that grows too long.

use std::time::Duration;

use hermes_providers::ProviderError;

use super::machine::{Ending, Next, Prepared, Turn};
use super::result::{ExitReason, TurnFailure};
use super::tries;
use crate::compaction::{Compacted, Need};
use crate::error::Result;

/// Left free below the room that a provider says there is for the answer.
const OUTPUT_MARGIN: u64 = 64;
/// With less room than this for the answer, the conversation is shortened instead.
const LEAST_ROOM: u64 = 1_024;
/// Between two compactions of one turn that a provider asked for.
const PAUSE: Duration = Duration::from_secs(2);

impl Turn<'_> {
    /// The next request, after shortening the conversation if it would be too long.
    pub(super) fn make_room(&mut self) -> Result<Prepared> {
        loop {
            let prepared = self.prepared();
            let may_shorten = self.tries.compactions < tries::COMPACTIONS;
            if !may_shorten || !self.agent.is_too_long(prepared.tokens) || self.is_interrupted() {
                return Ok(prepared);
            }
            let need = Need::Wanted {
                request: prepared.tokens,
            };
            match self.agent.compact(need, self.observer)? {
                Compacted::Done => {
                    self.tries.compactions += 1;
                    self.room = None;
                }
                Compacted::Unchanged => return Ok(prepared),
            }
        }
    }

    pub(super) fn recover(&mut self, error: &ProviderError) -> Result<Next> {
        if let Some(room) = error.available_output
            && room >= LEAST_ROOM
            && self.tries.output_caps < tries::OUTPUT_CAPS
        {
            self.tries.output_caps += 1;
            let room = room.saturating_sub(OUTPUT_MARGIN);
            self.room = Some(u32::try_from(room).unwrap_or(u32::MAX));
            self.budget.refund();
            return Ok(Next::Request);
        }
        if error.class.wants_compaction() || error.available_output.is_some() {
            return self.shorten(error);
        }
        self.fail(error)
    }

    fn shorten(&mut self, error: &ProviderError) -> Result<Next> {
        if let Some(limit) = error.stated_limit {
            let window = self.agent.provider.route().context_length;
            if limit < window {
                self.agent.provider.adopt_context_length(limit);
                self.notice(format!(
                    "The provider says its window has {limit} tokens, not {window}; that counts \
                     from now on."
                ));
            }
        }
        if self.tries.compactions >= tries::COMPACTIONS {
            return Ok(exhausted(error));
        }
        if self.tries.compactions > 0 && self.agent.context.interrupt.wait(PAUSE) {
            self.budget.refund();
            return Ok(Next::Request);
        }
        match self.agent.compact(Need::Forced, self.observer)? {
            Compacted::Done => {
                self.tries.compactions += 1;
                self.room = None;
                self.budget.refund();
                Ok(Next::Request)
            }
            Compacted::Unchanged => Ok(exhausted(error)),
        }
    }

    /// The turn ends; text that came before stays.
    fn fail(&mut self, error: &ProviderError) -> Result<Next> {
        let failure = TurnFailure::from(error);
        let carried = std::mem::take(&mut self.carried);
        let ending = match self.store_cut_answer(&carried, "length")? {
            Some(text) => Ending::partial(ExitReason::PartialStream, Some(text), failure),
            None => Ending::failed(ExitReason::AllRetriesExhausted, failure),
        };
        Ok(Next::end(ending))
    }
}

fn exhausted(error: &ProviderError) -> Next {
    let mut failure = TurnFailure::from(error);
    failure.message = format!(
        "the conversation does not fit into the model's window and cannot be shortened any \
         further: {error}"
    );
    Next::end(Ending::failed(ExitReason::CompressionExhausted, failure))
}
