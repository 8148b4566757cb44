//! Plays a script.

use std::sync::{Mutex, PoisonError};

use hermes_proc::Wake;
use serde_json::Value;

use super::condition::{CapturedGroups, count};
use super::script::{ReplayScript, ScriptTurn, ScriptedAnswer};
use crate::error::{ErrorClass, ProviderError, ProviderFailure};
use crate::message::{Message, Reasoning, Role, ToolCall};
use crate::provider::{Provider, RouteInfo};
use crate::request::ModelRequest;
use crate::response::{Cost, FinishReason, ModelResponse, StreamEvent, TokenUsage};

/// The provider `replay`.
#[derive(Debug)]
pub struct Replay {
    script: ReplayScript,
    model: String,
    progress: Mutex<ReplayProgress>,
}

/// Turns played in this process.
#[derive(Debug)]
struct ReplayProgress {
    /// How often each turn was played.
    played: Vec<u64>,
    /// The next turn without a condition; unknown before the first request.
    next: Option<u64>,
    /// Number of generated calls.
    calls: u64,
}

impl Replay {
    /// Name of the provider.
    pub const ID: &'static str = "replay";

    /// A provider that plays this script. `model` is its model name, unless the script has one.
    pub fn new(script: ReplayScript, model: Option<&str>) -> Self {
        let model = script.model.as_deref().or(model).unwrap_or(Self::ID);
        Self {
            model: model.to_owned(),
            progress: Mutex::new(ReplayProgress {
                played: vec![0; script.turns.len()],
                next: None,
                calls: 0,
            }),
            script,
        }
    }

    /// The turn for this request, counted as played.
    fn choose(&self, request: &ModelRequest) -> Option<(&ScriptTurn, CapturedGroups, u64)> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let ReplayProgress {
            played,
            next,
            calls,
        } = &mut *progress;
        let matched = self.script.turns.iter().enumerate().find_map(|(at, turn)| {
            let left = turn.times.is_none_or(|times| played[at] < times);
            let captures = turn.condition.as_ref().filter(|_| left)?.holds(request)?;
            Some((at, turn, captures))
        });
        let (at, turn, captures) = matched.or_else(|| {
            // Turns without a condition belong to the conversation.
            if request.task.is_some() {
                return None;
            }
            // A resumed session has had its first answers already.
            let position = next.get_or_insert_with(|| count(&request.messages, Role::Assistant));
            let mut sequence = self.script.turns.iter().enumerate();
            let (at, turn) = sequence
                .by_ref()
                .filter(|(_, turn)| turn.condition.is_none())
                .nth(usize::try_from(*position).ok()?)?;
            if turn.times.is_none_or(|times| played[at] + 1 >= times) {
                *position += 1;
            }
            Some((at, turn, CapturedGroups::new()))
        })?;
        played[at] += 1;
        let first_call = *calls;
        if let Ok(answer) = &turn.outcome {
            *calls += u64::try_from(answer.calls.len()).unwrap_or_default();
        }
        Some((turn, captures, first_call))
    }

    fn with_route(&self, mut error: ProviderError) -> ProviderError {
        Self::ID.clone_into(&mut error.provider);
        error.model.clone_from(&self.model);
        error
    }
}

impl Provider for Replay {
    fn complete(
        &self,
        request: &ModelRequest,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<ModelResponse, ProviderError> {
        let Some((turn, captures, first_call)) = self.choose(request) else {
            return Err(self.with_route(no_answer(request)));
        };
        if interrupt.wait(turn.delay) {
            return Err(self.with_route(ProviderError::interrupted()));
        }
        let answer = match &turn.outcome {
            Ok(answer) => answer,
            Err(error) => {
                let message = format!("{} (line {} of the script)", error.message, turn.line);
                let error = ProviderFailure {
                    message,
                    ..error.clone()
                };
                return Err(self.with_route(error.into()));
            }
        };
        let response = ModelResponse {
            model: Some(self.model.clone()),
            cost: Cost::Included,
            ..response(answer, &captures, request, first_call)
        };
        stream(&response, sink);
        Ok(ModelResponse {
            usage: Some(
                answer
                    .usage
                    .unwrap_or_else(|| estimated(request, &response)),
            ),
            ..response
        })
    }

    fn route(&self) -> RouteInfo {
        RouteInfo {
            provider: Self::ID.to_owned(),
            model: self.model.clone(),
            base_url: String::new(),
            context_length: self.script.context_length.unwrap_or(256_000),
            max_tokens: None,
            takes_images: true,
            ..RouteInfo::default()
        }
    }
}

fn response(
    answer: &ScriptedAnswer,
    captures: &CapturedGroups,
    request: &ModelRequest,
    first_call: u64,
) -> ModelResponse {
    // Makes ids unique within a session, also after another process resumed it.
    let earlier = request.messages.iter().map(|one| one.tool_calls.len());
    let earlier: usize = earlier.sum();
    let calls = (first_call..).zip(&answer.calls).map(|(number, call)| {
        let arguments = fill_value(&call.arguments, captures);
        // A plain text stands for arguments that are not JSON.
        let arguments = match arguments {
            Value::String(raw) => raw,
            other => other.to_string(),
        };
        let generated = || format!("call_{earlier}_{number}");
        let id = call.id.clone().unwrap_or_else(generated);
        ToolCall::new(id, fill(&call.tool, captures), arguments)
    });
    let tool_calls: Vec<ToolCall> = calls.collect();
    let natural = if tool_calls.is_empty() {
        FinishReason::Stop
    } else {
        FinishReason::ToolCalls
    };
    ModelResponse {
        text: fill(&answer.text, captures),
        reasoning: Reasoning {
            text: answer.think.as_ref().map(|think| fill(think, captures)),
            ..Reasoning::default()
        },
        tool_calls,
        ..ModelResponse::new(answer.finish.unwrap_or(natural))
    }
}

fn stream(response: &ModelResponse, sink: &mut dyn FnMut(StreamEvent)) {
    if let Some(think) = &response.reasoning.text {
        sink(StreamEvent::Reasoning(think.clone()));
    }
    for word in response.text.split_inclusive(char::is_whitespace) {
        sink(StreamEvent::Text(word.to_owned()));
    }
    for call in &response.tool_calls {
        sink(StreamEvent::ToolCall {
            name: call.name.clone(),
        });
    }
}

fn estimated(request: &ModelRequest, response: &ModelResponse) -> TokenUsage {
    let answer = ModelRequest::new("", vec![response.to_message()]);
    TokenUsage {
        input: request.estimated_tokens(),
        output: answer.estimated_tokens(),
        ..TokenUsage::default()
    }
}

fn no_answer(request: &ModelRequest) -> ProviderError {
    if let Some(task) = request.task {
        let name = task.name();
        let message =
            format!("no turn matches the auxiliary task {name} (`match: {{task: {name}}}`)");
        return ProviderError::new(ErrorClass::Script, message);
    }
    let last = request.messages.last();
    let text = last.map(|message| message.content.to_text());
    let shown = hermes_text::one_line(&text.unwrap_or_default(), 80);
    let role = last.map_or("user", |message: &Message| message.role.name());
    ProviderError::new(
        ErrorClass::Script,
        format!(
            "no turn matches the last message ({role}: \"{shown}\") and no turn without a condition is left"
        ),
    )
}

/// Replaces `${name}` by the captured group of that name.
fn fill(text: &str, captures: &CapturedGroups) -> String {
    if captures.is_empty() {
        return text.to_owned();
    }
    captures
        .iter()
        .fold(text.to_owned(), |text, (name, found)| {
            text.replace(&format!("${{{name}}}"), found)
        })
}

fn fill_value(value: &Value, captures: &CapturedGroups) -> Value {
    match value {
        Value::String(text) => Value::String(fill(text, captures)),
        Value::Array(items) => items
            .iter()
            .map(|item| fill_value(item, captures))
            .collect(),
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), fill_value(value, captures)))
            .collect(),
        other => other.clone(),
    }
}
