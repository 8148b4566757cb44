//! Playing a script.

use std::sync::{Mutex, PoisonError};

use hermes_proc::Wake;
use serde_json::Value;

use super::condition::{Captures, count};
use super::script::{Answer, Outcome, Script, Turn};
use crate::error::{ErrorClass, Failure, ProviderError};
use crate::message::{Message, Reasoning, Role, ToolCall};
use crate::provider::{Provider, RouteInfo};
use crate::request::Request;
use crate::response::{Cost, Finish, Response, StreamEvent, Usage};

/// The provider `replay`.
#[derive(Debug)]
pub struct Replay {
    script: Script,
    model: String,
    progress: Mutex<Progress>,
}

/// What was played so far, in this process.
#[derive(Debug)]
struct Progress {
    /// How often each turn was played.
    played: Vec<u64>,
    /// The next of the turns without a condition; not known before the first request.
    next: Option<u64>,
    /// Calls made up so far.
    calls: u64,
}

impl Replay {
    /// Name of the provider.
    pub const ID: &'static str = "replay";

    /// A provider that plays this script. `model` is what it calls itself, unless the script says.
    pub fn new(script: Script, model: Option<&str>) -> Self {
        let model = script.model.as_deref().or(model).unwrap_or(Self::ID);
        Self {
            model: model.to_owned(),
            progress: Mutex::new(Progress {
                played: vec![0; script.turns.len()],
                next: None,
                calls: 0,
            }),
            script,
        }
    }

    /// The turn that answers this request, counted as played.
    fn choose(&self, request: &Request) -> Option<(&Turn, Captures, u64)> {
        let mut progress = self.progress.lock().unwrap_or_else(PoisonError::into_inner);
        let Progress {
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
            // Those in order are the conversation's.
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
            Some((at, turn, Captures::new()))
        })?;
        played[at] += 1;
        let first_call = *calls;
        if let Outcome::Answer(answer) = &turn.outcome {
            *calls += u64::try_from(answer.calls.len()).unwrap_or_default();
        }
        Some((turn, captures, first_call))
    }

    fn explained(&self, mut error: ProviderError) -> ProviderError {
        Self::ID.clone_into(&mut error.provider);
        error.model.clone_from(&self.model);
        error
    }
}

impl Provider for Replay {
    fn complete(
        &self,
        request: &Request,
        sink: &mut dyn FnMut(StreamEvent),
        interrupt: &Wake,
    ) -> Result<Response, ProviderError> {
        let Some((turn, captures, first_call)) = self.choose(request) else {
            return Err(self.explained(no_answer(request)));
        };
        if interrupt.wait(turn.delay) {
            return Err(self.explained(ProviderError::interrupted()));
        }
        let answer = match &turn.outcome {
            Outcome::Answer(answer) => answer,
            Outcome::Error(error) => {
                let message = format!("{} (line {} of the script)", error.message, turn.line);
                let error = Failure {
                    message,
                    ..error.clone()
                };
                return Err(self.explained(error.into()));
            }
        };
        let response = Response {
            model: Some(self.model.clone()),
            cost: Cost::Included,
            ..response(answer, &captures, &Numbering::of(request, first_call))
        };
        stream(&response, sink);
        Ok(Response {
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
        }
    }
}

/// Ids for calls that differ within a session, also after it was resumed by another process.
struct Numbering {
    before: u64,
    first: u64,
}

impl Numbering {
    fn of(request: &Request, first: u64) -> Self {
        let calls = request
            .messages
            .iter()
            .map(|message| message.tool_calls.len());
        Self {
            before: u64::try_from(calls.sum::<usize>()).unwrap_or_default(),
            first,
        }
    }

    fn id(&self, index: usize) -> String {
        format!("call_{}_{}", self.before, self.first + index as u64)
    }
}

fn response(answer: &Answer, captures: &Captures, numbering: &Numbering) -> Response {
    let calls = answer.calls.iter().enumerate().map(|(index, call)| {
        let arguments = fill_value(&call.arguments, captures);
        // A bare text stands for arguments that are not JSON.
        let arguments = match arguments {
            Value::String(raw) => raw,
            other => other.to_string(),
        };
        let id = call.id.clone().unwrap_or_else(|| numbering.id(index));
        ToolCall::new(id, fill(&call.tool, captures), arguments)
    });
    let tool_calls: Vec<ToolCall> = calls.collect();
    let natural = if tool_calls.is_empty() {
        Finish::Stop
    } else {
        Finish::ToolCalls
    };
    Response {
        text: fill(&answer.text, captures),
        reasoning: Reasoning {
            text: answer.think.as_ref().map(|think| fill(think, captures)),
            ..Reasoning::default()
        },
        tool_calls,
        ..Response::new(answer.finish.unwrap_or(natural))
    }
}

fn stream(response: &Response, sink: &mut dyn FnMut(StreamEvent)) {
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

fn estimated(request: &Request, response: &Response) -> Usage {
    let answer = Request::new("", vec![response.to_message()]);
    Usage {
        input: request.estimated_tokens(),
        output: answer.estimated_tokens(),
        ..Usage::default()
    }
}

fn no_answer(request: &Request) -> ProviderError {
    if let Some(task) = request.task {
        let name = task.name();
        let message = format!("no turn matches the side task {name} (`match: {{task: {name}}}`)");
        return ProviderError::new(ErrorClass::Script, message);
    }
    let last = request.messages.last();
    let shown: String = last
        .map(|message| message.content.to_text())
        .unwrap_or_default()
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .take(80)
        .collect();
    let role = last.map_or("user", |message: &Message| message.role.name());
    ProviderError::new(
        ErrorClass::Script,
        format!("no turn matches the last message ({role}: \"{shown}\") and none is left in order"),
    )
}

/// `${name}` replaced by what the group of that name found; anything else stays.
fn fill(text: &str, captures: &Captures) -> String {
    if captures.is_empty() {
        return text.to_owned();
    }
    captures
        .iter()
        .fold(text.to_owned(), |text, (name, found)| {
            text.replace(&format!("${{{name}}}"), found)
        })
}

fn fill_value(value: &Value, captures: &Captures) -> Value {
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
