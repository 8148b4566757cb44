//! Answers without calls: the end of a turn, or only a part of it, or nothing at all.

use std::sync::Arc;

use hermes_providers::{Finish, Message, Response, Role};
use hermes_session as store;

use super::machine::{Ending, Next, Turn};
use super::result::{ExitReason, Outcome, TurnFailure};
use super::tries;
use crate::error::Result;
use crate::observer::Event;
use crate::wire::to_wire;

/// Largest cap that an answer is continued with.
const LARGEST_CAP: u32 = 32_768;
/// Smallest cap that is raised.
const LEAST_CAP: u32 = 4_096;

const CONTINUE: &str = "Your answer was cut off by its length limit. Go on exactly where it \
    stopped; do not repeat anything and do not comment on the break.";
const CONTINUE_AFTER_CUT: &str = "The connection broke while you were answering. What arrived is \
    above. Go on exactly where it stopped; do not repeat anything and do not comment on the break.";
const SPEAK: &str = "You have thought about it but said nothing. Give your answer now.";
const GO_ON: &str = "The results of your calls are above, but you said nothing. Go on with the \
    task, or give your answer if it is done.";

impl Turn<'_> {
    pub(super) fn answer(&mut self, response: Response) -> Result<Next> {
        match response.finish {
            Finish::Length | Finish::Cut => self.unfinished(response),
            Finish::Stop | Finish::ToolCalls | Finish::ContentFilter => {
                if response.text.trim().is_empty() && self.carried.trim().is_empty() {
                    self.empty(response)
                } else {
                    self.complete(response)
                }
            }
        }
    }

    /// The whole answer is there.
    fn complete(&mut self, mut response: Response) -> Result<Next> {
        let text = std::mem::take(&mut self.carried) + &response.text;
        response.text.clone_from(&text);
        self.store_step(&response.to_message(), &response, Vec::new())?;
        self.tail.clear();
        self.begin_anew();
        let check = self.agent.stop_check.as_mut();
        if let Some(reminder) = check.and_then(|check| check.reminder()) {
            self.store_user(store::Message::user(reminder))?;
            return Ok(Next::Request);
        }
        let text = text.trim().to_owned();
        if response.finish == Finish::ContentFilter {
            let failure = TurnFailure::own(
                "content_filter",
                "the provider withheld the rest",
                "say it in other words, or ask another model: `hermes chat -m MODEL`",
            );
            return Ok(Next::end(Ending::partial(
                ExitReason::TextResponse(response.finish.name()),
                Some(text),
                failure,
            )));
        }
        Ok(Next::end(Ending {
            outcome: Outcome::Completed,
            reason: ExitReason::TextResponse(response.finish.name()),
            text: Some(text),
            failure: None,
        }))
    }

    /// The answer was cut: asked to go on, a few times.
    fn unfinished(&mut self, response: Response) -> Result<Next> {
        let is_broken = response.finish == Finish::Cut;
        if self.tries.continuations >= tries::CONTINUATIONS {
            return self.give_up_continuing(response);
        }
        self.tries.continuations += 1;
        self.record_unused(&response)?;
        self.carried.push_str(&response.text);
        if !is_broken {
            self.raise_cap(&response);
        }
        self.tail.clear();
        if !self.carried.trim().is_empty() {
            self.tail.push(Message::assistant(self.carried.clone()));
        }
        let request = if response.lost_calls.is_empty() {
            if is_broken {
                CONTINUE_AFTER_CUT
            } else {
                CONTINUE
            }
            .to_owned()
        } else {
            format!(
                "The connection broke while you were calling {}. Nothing was executed. Call again, \
                 with less content at a time.",
                response.lost_calls.join(", ")
            )
        };
        self.tail.push(Message::user(request));
        self.budget.refund();
        Ok(Next::Request)
    }

    fn give_up_continuing(&mut self, mut response: Response) -> Result<Next> {
        let text = std::mem::take(&mut self.carried) + &response.text;
        self.tail.clear();
        let (reason, failure) = if response.finish == Finish::Cut {
            let failure = TurnFailure::own(
                "stream_cut",
                "the connection kept breaking off",
                "`hermes chat -c -q \"go on\"` goes on from here",
            );
            (ExitReason::PartialStream, failure)
        } else {
            let failure = TurnFailure::own(
                "length",
                "the answer is longer than the model may write, also in several pieces",
                "ask for less at a time, or raise `model.max_tokens`",
            );
            (ExitReason::Truncated, failure)
        };
        if text.trim().is_empty() {
            self.record_unused(&response)?;
            return Ok(Next::end(Ending::partial(reason, None, failure)));
        }
        response.text.clone_from(&text);
        self.store_step(&response.to_message(), &response, Vec::new())?;
        Ok(Next::end(Ending::partial(reason, Some(text), failure)))
    }

    /// Twice and three times what was enough for so much. An answer that was cut early says nothing
    /// about how long it was meant to be.
    fn raise_cap(&mut self, response: &Response) {
        let route = self.agent.provider.route();
        let written = response.usage.map(|usage| usage.output);
        let written = written.and_then(|tokens| u32::try_from(tokens).ok());
        let base = route.max_tokens.or(written).filter(|tokens| *tokens > 0);
        if let Some(base) = base {
            let base = base.max(LEAST_CAP);
            let factor = self.tries.continuations + 1;
            let raised = base.saturating_mul(factor).min(LARGEST_CAP);
            self.max_tokens = Some(raised.max(base));
        }
    }

    /// Nothing was said.
    fn empty(&mut self, response: Response) -> Result<Next> {
        self.record_unused(&response)?;
        if let Some(text) = self.prior_text.take() {
            return Ok(Next::end(Ending {
                outcome: Outcome::Completed,
                reason: ExitReason::PriorContent,
                text: Some(text),
                failure: None,
            }));
        }
        let thoughts = response.reasoning.content.or(response.reasoning.text);
        let thoughts = thoughts.filter(|text| !text.trim().is_empty());
        self.tail.clear();
        if let Some(thoughts) = thoughts
            && self.tries.thoughts_only < tries::THOUGHTS_ONLY
        {
            self.tries.thoughts_only += 1;
            self.tail.push(Message::assistant(thoughts));
            self.tail.push(Message::user(SPEAK));
        } else if self.is_after_tools() && !self.tries.empty_nudged {
            self.tries.empty_nudged = true;
            self.tail.push(Message::user(GO_ON));
        } else if self.tries.empty < tries::EMPTY {
            self.tries.empty += 1;
        } else if self.goes_to_another_route() {
            self.begin_anew();
        } else {
            let failure = TurnFailure::own(
                "empty_response",
                "the model gave no answer",
                "ask another model: `hermes chat -m MODEL`; those under `fallback_providers` in \
                 config.yaml take over by themselves",
            );
            return Ok(Next::end(Ending::failed(
                ExitReason::EmptyResponse,
                failure,
            )));
        }
        self.budget.refund();
        Ok(Next::Request)
    }

    /// Goes on with the next route of the chain, if there is one.
    fn goes_to_another_route(&mut self) -> bool {
        let provider = Arc::clone(&self.agent.provider);
        let observer = &mut *self.observer;
        let mut hear = |event| observer.on(Event::Stream(event));
        provider.give_up_on_route("gave no answer", &mut hear)
    }

    fn is_after_tools(&self) -> bool {
        let last = self.agent.history.last();
        last.and_then(|entry| to_wire(&entry.message))
            .is_some_and(|message| message.role == Role::Tool)
    }
}
