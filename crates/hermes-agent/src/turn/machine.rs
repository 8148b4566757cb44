//! The state machine of a turn: sends requests and handles answers until the turn ends.

use std::sync::Arc;
use std::time::Instant;

use hermes_providers::{
    Cost, ErrorClass, Message, ModelRequest, ModelResponse, ProviderError, Reasoning, StreamEvent,
    TokenUsage,
};
use hermes_session::{ConversationStep, MessageContent, SessionMessage, UsageRecord};
use serde_json::Value;

use super::attempts::Attempts;
use super::code_changes::CodeChanges;
use super::input::{Acknowledged, TurnInput};
use super::result::{ExitReason, TurnFailure, TurnOutcome, TurnResult};
use crate::Result;
use crate::agent::{Agent, HistoryEntry};
use crate::auxiliary::cost;
use crate::history_repair::sendable;
use crate::message_conversion::{to_stored, to_wire};
use crate::observer::{TurnEvent, TurnObserver};
use crate::tools::LoopGuard;

/// The last request, when the budget is used up.
const SUMMARY_REQUEST: &str = "The number of steps for this task is used up, so no more tools can \
    be called. Say now, from what you have found so far: what was done, what was found, and what is \
    left to do.";

const SUMMARY_REQUESTS: usize = 2;

pub(super) enum NextStep {
    Request,
    End(Box<TurnEnding>),
}

impl NextStep {
    fn end(
        outcome: TurnOutcome,
        reason: ExitReason,
        text: Option<String>,
        failure: Option<TurnFailure>,
    ) -> Self {
        Self::End(Box::new(TurnEnding {
            outcome,
            reason,
            text,
            failure,
        }))
    }

    pub(super) fn completed(reason: ExitReason, text: String) -> Self {
        Self::end(TurnOutcome::Completed, reason, Some(text), None)
    }

    pub(super) fn partial(reason: ExitReason, text: Option<String>, failure: TurnFailure) -> Self {
        Self::end(TurnOutcome::Partial, reason, text, Some(failure))
    }

    pub(super) fn failed(reason: ExitReason, failure: TurnFailure) -> Self {
        Self::end(TurnOutcome::Failed, reason, None, Some(failure))
    }
}

pub(super) struct TurnEnding {
    outcome: TurnOutcome,
    reason: ExitReason,
    text: Option<String>,
    failure: Option<TurnFailure>,
}

pub(super) struct Turn<'a> {
    pub(super) agent: &'a mut Agent,
    pub(super) observer: &'a mut dyn TurnObserver,
    /// Requests left.
    pub(super) steps_left: u32,
    pub(super) guard: LoopGuard,
    pub(super) attempts: Attempts,
    /// Text of truncated answers to be continued.
    pub(super) carried: String,
    /// Text of the current answer so far.
    arrived: String,
    /// Messages sent after the history, never stored.
    pub(super) tail: Vec<Message>,
    /// Output limit of the next answer, if not that of the route.
    pub(super) max_tokens: Option<u32>,
    /// Room for the answer stated by the provider, until the next compaction.
    pub(super) room: Option<u32>,
    /// Whether no tools are offered any more.
    without_tools: bool,
    /// Text beside housekeeping calls.
    pub(super) prior_text: Option<String>,
    /// Files whose last change failed.
    pub(super) unwritten: Vec<String>,
    pub(super) tool_trace: Vec<Value>,
    pub(super) code_changes: CodeChanges,
    /// Whether the model was told to do what it announced.
    pub(super) went_on: bool,
    pub(super) reasoning: Reasoning,
    /// The user's message, for hooks.
    message: String,
    /// Whether all that was stored is on the disk.
    is_forced: bool,
    api_calls: u64,
    usage: TokenUsage,
    /// Cost of all answers; none without an answer.
    cost: Option<Cost>,
}

impl Agent {
    /// Runs one turn, from the user's message to the answer.
    pub fn turn(&mut self, input: TurnInput, observer: &mut dyn TurnObserver) -> TurnResult {
        let settings = &self.settings;
        let mut turn = Turn {
            steps_left: settings.max_iterations,
            guard: LoopGuard::new(settings.loop_guard),
            attempts: Attempts::default(),
            carried: String::new(),
            arrived: String::new(),
            tail: Vec::new(),
            max_tokens: None,
            room: None,
            without_tools: false,
            prior_text: None,
            unwritten: Vec::new(),
            tool_trace: Vec::new(),
            code_changes: CodeChanges::default(),
            went_on: false,
            reasoning: Reasoning::default(),
            message: String::new(),
            is_forced: true,
            api_calls: 0,
            usage: TokenUsage::default(),
            cost: None,
            agent: self,
            observer,
        };
        let ending = turn.drive(input).unwrap_or_else(|error| TurnEnding {
            outcome: TurnOutcome::Failed,
            reason: ExitReason::StoreFailed,
            text: None,
            failure: Some(TurnFailure {
                hint: error.hint(),
                ..TurnFailure::own("session_store", error.to_string(), "")
            }),
        });
        turn.finish(ending)
    }
}

impl Turn<'_> {
    fn drive(&mut self, input: TurnInput) -> Result<TurnEnding> {
        self.prepare(input)?;
        loop {
            if self.is_interrupted() {
                return self.interrupted(ExitReason::Interrupted);
            }
            if self.steps_left == 0 {
                return self.sum_up();
            }
            self.steps_left -= 1;
            if let Some(checkpoints) = &self.agent.context.conversation.checkpoints {
                checkpoints.begin_step();
            }
            let (request, tokens) = self.make_room()?;
            let next = match self.send(&request, tokens) {
                Ok(response) => self.act_on(response)?,
                Err(error) if error.class == ErrorClass::Interrupted => {
                    return self.interrupted(ExitReason::InterruptedDuringRequest);
                }
                Err(error) => self.recover(&error)?,
            };
            if let NextStep::End(ending) = next {
                return Ok(*ending);
            }
        }
    }

    /// Stores the user's message before any request. What was heard of background processes since
    /// the last turn, what a memory service recalls and what hooks add is sent with it; the stored
    /// text stays the user's own.
    fn prepare(&mut self, input: TurnInput) -> Result<()> {
        self.agent.provider.begin_turn();
        if self.agent.ensure_session()? {
            self.agent.tell_start();
        }
        self.is_forced = input.acknowledged == Acknowledged::Stored;
        let mut message = to_stored(&input.into_message(), None);
        self.message = message.text();
        let recalled = self.agent.recalled(&self.message);
        let added = self.agent.added_context(&self.message);
        let added = [recalled, added].into_iter().flatten();
        let added = added.reduce(|all, more| format!("{all}\n\n{more}"));
        match (self.agent.take_notices(), &message.content) {
            (notices, Some(MessageContent::Text(text))) if notices.is_some() || added.is_some() => {
                let parts = [notices, Some(text.clone()), added];
                let parts: Vec<String> = parts.into_iter().flatten().collect();
                message.api_content = Some(parts.join("\n\n"));
            }
            (None, _) if added.is_none() => {}
            (notices, _) => {
                let parts: Vec<String> = [notices, added].into_iter().flatten().collect();
                self.store_user(to_stored(&Message::user(parts.join("\n\n")), None))?;
            }
        }
        self.store_user(message)?;
        self.observer.on(TurnEvent::Stored);
        Ok(())
    }

    fn act_on(&mut self, mut response: ModelResponse) -> Result<NextStep> {
        let (text, reasoning) = crate::answer_text::continued(&self.carried, &response.text);
        response.text = text;
        if let Some(reasoning) = reasoning {
            let known = response.reasoning.text.take();
            let known = known.map_or_else(String::new, |known| known + "\n\n");
            response.reasoning.text = Some(known + &reasoning);
        }
        self.reasoning = response.reasoning.clone();
        if response.tool_calls.is_empty() {
            self.answer(response)
        } else {
            self.calls(response)
        }
    }

    /// Ends an interrupted turn. The partial answer is stored.
    fn interrupted(&mut self, reason: ExitReason) -> Result<TurnEnding> {
        let arrived = std::mem::take(&mut self.arrived);
        let arrived = crate::answer_text::continued(&self.carried, &arrived).0;
        let text = std::mem::take(&mut self.carried) + &arrived;
        Ok(TurnEnding {
            outcome: TurnOutcome::Interrupted,
            reason,
            text: self.store_partial_answer(&text, "interrupted")?,
            failure: None,
        })
    }

    pub(super) fn is_interrupted(&self) -> bool {
        self.agent.context.interrupt.is_raised()
    }

    pub(super) fn request(&self) -> ModelRequest {
        let history = self.agent.history.iter();
        let messages = history.filter_map(|entry| to_wire(&entry.message));
        let messages = messages.chain(self.tail.iter().cloned());
        let prefill = self.agent.settings.prefill.iter().cloned();
        let messages = prefill.chain(messages).collect();
        let mut request = ModelRequest::new(self.agent.sent_system(), sendable(messages));
        if !self.without_tools {
            request.tools = Arc::clone(&self.agent.tools);
        }
        request.effort = self.agent.settings.effort;
        request.session_id = Some(self.agent.session.to_string());
        request.max_tokens = match (self.max_tokens, self.room) {
            (Some(cap), Some(room)) => Some(cap.min(room)),
            (cap, room) => cap.or(room),
        };
        request
    }

    /// Sends a request of estimated `tokens`.
    fn send(
        &mut self,
        request: &ModelRequest,
        tokens: u64,
    ) -> std::result::Result<ModelResponse, ProviderError> {
        let provider = Arc::clone(&self.agent.provider);
        let interrupt = Arc::clone(&self.agent.context.interrupt);
        let observer = &mut *self.observer;
        let arrived = &mut self.arrived;
        arrived.clear();
        self.api_calls += 1;
        self.agent.tell_request(request, tokens, self.api_calls);
        let begun = Instant::now();
        let mut sink = |event: StreamEvent| {
            match &event {
                StreamEvent::Text(more) => arrived.push_str(more),
                // The answer starts again.
                StreamEvent::Restart | StreamEvent::Switched(_) => arrived.clear(),
                StreamEvent::Reasoning(_)
                | StreamEvent::ToolCall { .. }
                | StreamEvent::Waiting { .. } => {}
            }
            observer.on(TurnEvent::Stream(event));
        };
        let response = provider.complete(request, &mut sink, &interrupt)?;
        let seconds = begun.elapsed().as_secs_f64();
        self.agent.tell_response(&response, seconds, self.api_calls);
        self.arrived.clear();
        self.attempts.compactions = 0;
        self.cost = Some(match self.cost {
            Some(before) => before.and(response.cost),
            None => response.cost,
        });
        if let Some(usage) = &response.usage {
            self.usage.add(usage);
            let calibration = &mut self.agent.calibration;
            calibration.learn(tokens, usage.prompt());
        }
        Ok(response)
    }

    /// Asks for a summary without tools when the budget is used up.
    fn sum_up(&mut self) -> Result<TurnEnding> {
        let cap = self.agent.settings.max_iterations;
        self.notice(format!(
            "The {cap} steps of this turn are used up; asking for a summary."
        ));
        self.tail = vec![Message::user(SUMMARY_REQUEST)];
        self.without_tools = true;
        let mut text = None;
        for _ in 0..SUMMARY_REQUESTS {
            let (request, tokens) = self.make_room()?;
            let response = match self.send(&request, tokens) {
                Ok(response) => response,
                Err(error) if error.class == ErrorClass::Interrupted => {
                    return self.interrupted(ExitReason::InterruptedDuringRequest);
                }
                Err(error) => {
                    tracing::warn!(%error, "no summary at the end of the budget");
                    break;
                }
            };
            text = self.summary_in(response)?;
            if text.is_some() || self.is_interrupted() {
                break;
            }
        }
        let failure = TurnFailure::own(
            "max_iterations",
            format!("the budget of {cap} steps is used up"),
            "continue with `hermes chat -c -q \"go on\"`, or allow more steps with `agent.max_turns` or \
             `--max-turns`",
        );
        Ok(TurnEnding {
            outcome: TurnOutcome::Partial,
            reason: ExitReason::MaxIterations,
            text,
            failure: Some(failure),
        })
    }

    /// Stores the text of a summary and returns it; records its cost in any case.
    fn summary_in(&mut self, mut response: ModelResponse) -> Result<Option<String>> {
        response.tool_calls.clear();
        response.text = crate::answer_text::cleaned(&response.text);
        let text = response.text.trim().to_owned();
        if text.is_empty() {
            self.record_unused(&response)?;
            return Ok(None);
        }
        self.tail.clear();
        self.store_step(&response.to_message(), &response, Vec::new())?;
        Ok(Some(text))
    }

    pub(super) fn store_user(&mut self, message: SessionMessage) -> Result<()> {
        let agent = &mut *self.agent;
        let id = if self.is_forced {
            agent.store.append_user(&agent.session, &message)?
        } else {
            agent.store.append_user_unsynced(&agent.session, &message)?
        };
        agent.history.push(HistoryEntry { id, message });
        Ok(())
    }

    /// Waits until what led to the calls that follow is on the disk.
    pub(super) fn force(&mut self) -> Result<()> {
        if !self.is_forced {
            self.agent.store.force()?;
            self.is_forced = true;
        }
        Ok(())
    }

    /// Stores an answer with the results of its calls and its cost.
    pub(super) fn store_step(
        &mut self,
        assistant: &Message,
        response: &ModelResponse,
        results: Vec<SessionMessage>,
    ) -> Result<()> {
        let step = ConversationStep {
            assistant: to_stored(assistant, Some(response.finish.name())),
            results,
            usage: Some(self.cost_of(response)),
        };
        self.append(step)
    }

    fn append(&mut self, step: ConversationStep) -> Result<()> {
        let agent = &mut *self.agent;
        let ids = agent.store.append_step(&agent.session, &step)?;
        self.is_forced = true;
        let messages = std::iter::once(step.assistant).chain(step.results);
        let entries = ids.into_iter().zip(messages);
        agent
            .history
            .extend(entries.map(|(id, message)| HistoryEntry { id, message }));
        Ok(())
    }

    /// Stores a partial answer with the reason and returns its text, if any.
    pub(super) fn store_partial_answer(&mut self, text: &str, why: &str) -> Result<Option<String>> {
        let text = text.trim();
        if text.is_empty() {
            return Ok(None);
        }
        self.append(ConversationStep {
            assistant: to_stored(&Message::assistant(text), Some(why)),
            results: Vec::new(),
            usage: None,
        })?;
        Ok(Some(text.to_owned()))
    }

    pub(super) fn reset_attempts(&mut self) {
        self.attempts.reset();
        self.max_tokens = None;
    }

    pub(super) fn record_unused(&mut self, response: &ModelResponse) -> Result<()> {
        let cost = self.cost_of(response);
        let agent = &mut *self.agent;
        agent.store.record_usage(&agent.session, &cost)
    }

    fn cost_of(&self, response: &ModelResponse) -> UsageRecord {
        cost(response, &self.agent.provider.route(), "")
    }

    pub(super) fn notice(&mut self, text: String) {
        tracing::info!("{text}");
        self.observer.on(TurnEvent::Notice(text));
    }

    fn finish(self, ending: TurnEnding) -> TurnResult {
        tracing::info!(
            session = %self.agent.session,
            reason = %ending.reason.name(),
            requests = self.api_calls,
            "turn ended"
        );
        let mut result = TurnResult {
            final_response: ending.text,
            last_reasoning: self.reasoning.text.or(self.reasoning.content),
            outcome: ending.outcome,
            exit_reason: ending.reason,
            failure: ending.failure,
            api_calls: self.api_calls,
            max_iterations: self.agent.settings.max_iterations,
            usage: self.usage,
            cost: self.cost.unwrap_or_default(),
            pending_steer: self.agent.steering.take(),
            unwritten_files: if self.agent.settings.verify_file_changes {
                self.unwritten
            } else {
                Vec::new()
            },
            tool_trace: self.tool_trace,
            route: self.agent.provider.route(),
            session_id: self.agent.session.clone(),
        };
        self.agent.end_turn_for_hooks(&self.message, &mut result);
        self.agent.keep_turn(&self.message, &result);
        result
    }
}
