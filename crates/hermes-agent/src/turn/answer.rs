//! Answers without calls: complete, truncated or empty.

use std::sync::Arc;

use hermes_providers::{FinishReason, Message, ModelResponse};
use hermes_session::{MessageRole, SessionMessage};

use super::attempts;
use super::machine::{NextStep, Turn};
use super::result::{ExitReason, TurnFailure};
use super::stopping_early::GO_ON;
use crate::Result;
use crate::observer::TurnEvent;

const MAX_CAP: u32 = 32_768;
const MIN_CAP: u32 = 4_096;

const CONTINUE: &str = "Your answer was cut off by its length limit. Go on exactly where it \
    stopped; do not repeat anything and do not comment on the break.";
const CONTINUE_AFTER_BREAK: &str = "The connection broke while you were answering. What arrived is \
    above. Go on exactly where it stopped; do not repeat anything and do not comment on the break.";
const ANSWER_NOW: &str = "You have thought about it but said nothing. Give your answer now.";
const PROCEED: &str = "The results of your calls are above, but you said nothing. Go on with the \
    task, or give your answer if it is done.";

impl Turn<'_> {
    pub(super) fn answer(&mut self, response: ModelResponse) -> Result<NextStep> {
        match response.finish {
            FinishReason::Length | FinishReason::Truncated => self.truncated(response),
            FinishReason::Stop | FinishReason::ToolCalls | FinishReason::ContentFilter => {
                if response.text.trim().is_empty() && self.carried.trim().is_empty() {
                    self.empty(response)
                } else {
                    self.complete(response)
                }
            }
        }
    }

    fn complete(&mut self, mut response: ModelResponse) -> Result<NextStep> {
        let text = std::mem::take(&mut self.carried) + &response.text;
        response.text.clone_from(&text);
        self.store_step(&response.to_message(), &response, Vec::new())?;
        self.tail.clear();
        self.reset_attempts();
        let check = self.agent.stop_check.as_mut();
        if let Some(reminder) = check.and_then(|check| check.reminder()) {
            self.store_user(SessionMessage::user(reminder))?;
            return Ok(NextStep::Request);
        }
        if response.finish != FinishReason::ContentFilter {
            if self.only_announces(&text) {
                self.store_user(SessionMessage::user(GO_ON))?;
                return Ok(NextStep::Request);
            }
            if let Some(reminder) = self.check_reminder() {
                self.store_user(SessionMessage::user(reminder))?;
                return Ok(NextStep::Request);
            }
        }
        let text = text.trim().to_owned();
        let reason = ExitReason::TextResponse(response.finish.name());
        if response.finish == FinishReason::ContentFilter {
            let failure = TurnFailure::own(
                "content_filter",
                "the provider withheld the rest of the answer",
                "rephrase the message, or use another model: `hermes chat -m MODEL`",
            );
            return Ok(NextStep::partial(reason, Some(text), failure));
        }
        Ok(NextStep::completed(reason, text))
    }

    /// Asks the model to continue a truncated answer, a few times.
    fn truncated(&mut self, response: ModelResponse) -> Result<NextStep> {
        let is_broken = response.finish == FinishReason::Truncated;
        if self.attempts.continuations >= attempts::CONTINUATIONS {
            return self.give_up_continuing(response);
        }
        self.attempts.continuations += 1;
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
                CONTINUE_AFTER_BREAK
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
        self.steps_left += 1;
        Ok(NextStep::Request)
    }

    fn give_up_continuing(&mut self, mut response: ModelResponse) -> Result<NextStep> {
        let text = std::mem::take(&mut self.carried) + &response.text;
        self.tail.clear();
        let (reason, failure) = if response.finish == FinishReason::Truncated {
            let failure = TurnFailure::own(
                "stream_cut",
                "the connection broke repeatedly",
                "continue with `hermes chat -c -q \"go on\"`",
            );
            (ExitReason::PartialStream, failure)
        } else {
            let failure = TurnFailure::own(
                "length",
                "the answer exceeds the output limit of the model, even in several pieces",
                "ask for less at a time, or raise `model.max_tokens`",
            );
            (ExitReason::Truncated, failure)
        };
        if text.trim().is_empty() {
            self.record_unused(&response)?;
            return Ok(NextStep::partial(reason, None, failure));
        }
        response.text.clone_from(&text);
        self.store_step(&response.to_message(), &response, Vec::new())?;
        Ok(NextStep::partial(reason, Some(text), failure))
    }

    /// Raises the output limit to a multiple of what was written.
    fn raise_cap(&mut self, response: &ModelResponse) {
        let route = self.agent.provider.route();
        let written = response.usage.map(|usage| usage.output);
        let written = written.and_then(|tokens| u32::try_from(tokens).ok());
        let base = route.max_tokens.or(written).filter(|tokens| *tokens > 0);
        if let Some(base) = base {
            let base = base.max(MIN_CAP);
            let factor = self.attempts.continuations + 1;
            let raised = base.saturating_mul(factor).min(MAX_CAP);
            self.max_tokens = Some(raised.max(base));
        }
    }

    fn empty(&mut self, response: ModelResponse) -> Result<NextStep> {
        self.record_unused(&response)?;
        if let Some(text) = self.prior_text.take() {
            return Ok(NextStep::completed(ExitReason::PriorContent, text));
        }
        let reasoning = response.reasoning.content.or(response.reasoning.text);
        let reasoning = reasoning.filter(|text| !text.trim().is_empty());
        self.tail.clear();
        if let Some(reasoning) = reasoning
            && self.attempts.reasoning_only < attempts::REASONING_ONLY
        {
            self.attempts.reasoning_only += 1;
            self.tail.push(Message::assistant(reasoning));
            self.tail.push(Message::user(ANSWER_NOW));
        } else if self.is_after_tools() && !self.attempts.empty_reminded {
            self.attempts.empty_reminded = true;
            self.tail.push(Message::user(PROCEED));
        } else if self.attempts.empty < attempts::EMPTY {
            self.attempts.empty += 1;
        } else if self.switch_route() {
            self.reset_attempts();
        } else {
            let failure = TurnFailure::own(
                "empty_response",
                "the model gave no answer",
                "use another model with `hermes chat -m MODEL`, or set `fallback_providers` in config.yaml",
            );
            return Ok(NextStep::failed(ExitReason::EmptyResponse, failure));
        }
        self.steps_left += 1;
        Ok(NextStep::Request)
    }

    /// Switches to the next route, if there is one.
    fn switch_route(&mut self) -> bool {
        let provider = Arc::clone(&self.agent.provider);
        let observer = &mut *self.observer;
        let mut sink = |event| observer.on(TurnEvent::Stream(event));
        provider.give_up_on_route("gave no answer", &mut sink)
    }

    fn is_after_tools(&self) -> bool {
        let last = self.agent.history.last();
        last.is_some_and(|entry| entry.message.role == MessageRole::Tool)
    }
}
