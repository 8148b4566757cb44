//! Answers with tool calls: checked, run, and stored together with their results.

use std::collections::HashSet;

use hermes_providers::{ContentPart, FinishReason, Image, ModelResponse, ToolCall};
use hermes_session::{MessageContent, SessionMessage};
use hermes_tools::{CALL_TOOL, deferred_call, result_images};
use serde_json::{Value, json};

use super::attempts;
use super::machine::{NextStep, Turn};
use super::result::{ExitReason, TurnFailure};
use crate::Result;
use crate::history_repair::canonical_arguments;
use crate::message_conversion::parts_value;
use crate::prompt::subdirectory_hint;
use crate::steering::marked;
use crate::tools::{
    Batch, ExecutedCall, PlannedCall, ResultLimits, as_sent, error_text, intended_tool,
};

/// Housekeeping tools: text beside their calls may be the answer.
const HOUSEKEEPING: &[&str] = &["memory", "todo", "skill_manage", "session_search"];
/// The tool that starts sub-agents.
const DELEGATE: &str = "delegate_task";
/// The tool whose calls do not count against the budget.
const SCRIPT: &str = "execute_code";

impl Turn<'_> {
    pub(super) fn calls(&mut self, mut response: ModelResponse) -> Result<NextStep> {
        if matches!(
            response.finish,
            FinishReason::Length | FinishReason::Truncated
        ) {
            return self.truncated_call(&response);
        }
        let names = self.agent.callable_names();
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        self.correct_names(&mut response.tool_calls, &known);
        self.normalize_calls(&mut response.tool_calls);
        let mut planned = Vec::with_capacity(response.tool_calls.len());
        let mut is_broken = false;
        for call in &response.tool_calls {
            let is_known = known.contains(&call.name.as_str());
            let arguments = arguments_of(&call.arguments);
            is_broken |= arguments.is_none();
            let mut planned_call = PlannedCall {
                call: call.clone(),
                tool: call.name.clone(),
                arguments: arguments.clone().unwrap_or_else(|| json!({})),
                answer: None,
            };
            match (is_known, &arguments) {
                (false, _) => {
                    planned_call.answer = Some(error_text(format!(
                        "No such tool: '{}'. Available tools: {}.",
                        display_name(&call.name),
                        self.agent.tool_names().join(", ")
                    )));
                }
                (true, None) => {
                    planned_call.answer = Some(error_text(
                        "The arguments are not a JSON object. Call again with valid JSON.",
                    ));
                }
                (true, Some(arguments)) if call.name == CALL_TOOL => {
                    match deferred_call(arguments, &self.agent.context) {
                        Ok((tool, arguments)) => {
                            planned_call.tool = tool;
                            planned_call.arguments = arguments;
                        }
                        Err(message) => planned_call.answer = Some(error_text(message)),
                    }
                }
                (true, Some(_)) => {}
            }
            planned.push(planned_call);
        }
        if is_broken && self.attempts.bad_arguments < attempts::BAD_ARGUMENTS {
            self.attempts.bad_arguments += 1;
            self.record_unused(&response)?;
            self.steps_left += 1;
            return Ok(NextStep::Request);
        }
        let has_unknown = planned.iter().any(|one| !names.contains(&one.call.name));
        if has_unknown {
            for one in &mut planned {
                one.answer.get_or_insert_with(|| {
                    error_text(
                        "Not called: another call of the same message names a tool that does not \
                         exist. Call again.",
                    )
                });
            }
        }
        self.run(response, planned, has_unknown)
    }

    fn correct_names(&mut self, calls: &mut [ToolCall], known: &[&str]) {
        for call in calls {
            if let Some(tool) = intended_tool(&call.name, known)
                && tool != call.name
            {
                let text = format!(
                    "{} was corrected to the tool {tool}.",
                    display_name(&call.name)
                );
                self.notice(text);
                tool.clone_into(&mut call.name);
            }
        }
    }

    fn run(
        &mut self,
        mut response: ModelResponse,
        planned: Vec<PlannedCall>,
        has_unknown: bool,
    ) -> Result<NextStep> {
        let text = std::mem::take(&mut self.carried) + &response.text;
        self.tail.clear();
        response.text = text;
        let assistant = response.to_message();
        self.force()?;
        let mut executed = Batch {
            context: &self.agent.context,
            guard: &mut self.guard,
            observer: &mut *self.observer,
        }
        .run(planned);
        self.note_calls(&response.text, &executed);
        self.add_hints(&mut executed);
        let results = self.results(&executed);
        self.store_step(&assistant, &response, results)?;
        let only_scripts = executed.iter().all(|one| one.call.name == SCRIPT);
        if only_scripts {
            self.steps_left += 1;
        }
        let unknown_before = self.attempts.unknown_tools;
        self.reset_attempts();
        self.attempts.unknown_tools = if has_unknown { unknown_before + 1 } else { 0 };
        if self.attempts.unknown_tools >= attempts::UNKNOWN_TOOLS {
            let failure = TurnFailure::own(
                "unknown_tools",
                "the model kept calling tools that do not exist",
                "list its tools with `hermes tools list`, or use another model: `hermes chat -m MODEL`",
            );
            let text = self.prior_text.take();
            return Ok(NextStep::partial(ExitReason::UnknownTools, text, failure));
        }
        if self.guard.is_halted() {
            let failure = TurnFailure::own(
                "guardrail",
                "the turn was ended because the model kept repeating failing calls",
                "see `tool_loop_guardrails.hard_stop_enabled` and `.hard_stop_after` in config.yaml",
            );
            let text = self.prior_text.take();
            return Ok(NextStep::partial(ExitReason::GuardrailHalt, text, failure));
        }
        Ok(NextStep::Request)
    }

    /// Handles a truncated call: requested once more, then given up. Nothing is run.
    fn truncated_call(&mut self, response: &ModelResponse) -> Result<NextStep> {
        self.record_unused(response)?;
        if self.attempts.truncated_calls < attempts::TRUNCATED_CALLS {
            self.attempts.truncated_calls += 1;
            self.steps_left += 1;
            return Ok(NextStep::Request);
        }
        let names: Vec<&str> = response
            .tool_calls
            .iter()
            .map(|call| call.name.as_str())
            .collect();
        let failure = TurnFailure::own(
            "truncated_call",
            format!(
                "the call of {} was truncated twice; nothing was run",
                display_name(&names.join(", "))
            ),
            "ask for less content at a time, or raise `model.max_tokens`",
        );
        let text = std::mem::take(&mut self.carried) + &response.text;
        let text = self.store_partial_answer(&text, "length")?;
        Ok(NextStep::partial(ExitReason::Truncated, text, failure))
    }

    /// Gives calls unique ids, and drops duplicates and surplus sub-agents.
    fn normalize_calls(&mut self, calls: &mut Vec<ToolCall>) {
        let before = calls.len();
        let mut seen = HashSet::new();
        calls.retain(|call| {
            let arguments = canonical_arguments(&call.arguments);
            let arguments = arguments.unwrap_or_else(|| call.arguments.clone());
            seen.insert((call.name.clone(), arguments))
        });
        let twice = before - calls.len();
        let most = self.agent.settings.max_delegations;
        let mut delegations = 0;
        calls.retain(|call| {
            delegations += usize::from(call.name == DELEGATE);
            call.name != DELEGATE || delegations <= most
        });
        let excess = before - twice - calls.len();
        if twice > 0 {
            self.notice(format!(
                "{twice} repeated calls of one message were dropped."
            ));
        }
        if excess > 0 {
            self.notice(format!(
                "{excess} calls of {DELEGATE} beyond the {most} that may run at once were dropped."
            ));
        }
        let mut ids = HashSet::new();
        for (index, call) in calls.iter_mut().enumerate() {
            if call.id.is_empty() || !ids.insert(call.id.clone()) {
                call.id = format!("call_{}_{index}", self.agent.history.len());
                ids.insert(call.id.clone());
            }
        }
    }

    /// Records the calls for the rest of the turn.
    fn note_calls(&mut self, text: &str, executed: &[ExecutedCall]) {
        let is_housekeeping = executed
            .iter()
            .all(|one| HOUSEKEEPING.contains(&one.call.name.as_str()));
        let text = text.trim();
        self.prior_text = (is_housekeeping && !text.is_empty()).then(|| text.to_owned());
        for one in executed {
            let name = &one.tool;
            let failed = one.has_failed();
            if let Some(check) = self.agent.stop_check.as_mut()
                && let Some(result) = &one.value
            {
                check.note(name, result);
            }
            self.tool_trace.push(json!({
                "tool": name,
                "args_bytes": one.call.arguments.len(),
                "result_bytes": one.text.len(),
                "status": if failed { "error" } else { "ok" },
            }));
            let arguments = arguments_of(&one.call.arguments).unwrap_or_default();
            if let (Some(command), Some(result)) = (arguments.get("command"), &one.value) {
                self.code_changes
                    .ran(command.as_str().unwrap_or_default(), result);
            }
            if name != "write_file" && name != "patch" {
                continue;
            }
            for path in changed_paths(&arguments) {
                self.unwritten.retain(|other| *other != path);
                if failed {
                    self.unwritten.push(path);
                } else {
                    self.code_changes.changed(&path);
                }
            }
        }
    }

    /// Adds the instructions of subdirectories that are touched for the first time.
    fn add_hints(&mut self, executed: &mut [ExecutedCall]) {
        if !self.agent.settings.directory_hints {
            return;
        }
        let cwd = self.agent.context.session.cwd();
        for one in executed.iter_mut().filter(|one| one.value.is_some()) {
            let arguments = arguments_of(&one.call.arguments).unwrap_or_default();
            let path = ["path", "workdir"]
                .iter()
                .find_map(|name| arguments.get(*name)?.as_str());
            let Some(path) = path else { continue };
            let Ok(path) = self.agent.context.resolve(path) else {
                continue;
            };
            let rules = &self.agent.settings.file_rules;
            let seen = &mut self.agent.hinted;
            let Some((hint, notices)) = subdirectory_hint(&cwd, &path, seen, rules) else {
                continue;
            };
            one.text.push_str("\n\n");
            one.text.push_str(&hint);
            for notice in notices {
                self.notice(notice);
            }
        }
    }

    /// The results to store: whole, with the shortened text to send if they are too long.
    fn results(&mut self, executed: &[ExecutedCall]) -> Vec<SessionMessage> {
        let route = self.agent.provider.route();
        let sends_images =
            route.takes_images && !self.agent.settings.images.wants_text(&route.model);
        let sent = as_sent(
            executed,
            ResultLimits::of_window(route.context_length),
            &self.agent.context,
        );
        let mut results: Vec<SessionMessage> = executed
            .iter()
            .zip(sent)
            .map(|(one, sent)| SessionMessage {
                api_content: sent,
                ..SessionMessage::tool_result(
                    &*one.call.id,
                    &*one.call.name,
                    result_content(one, sends_images),
                )
            })
            .collect();
        if let Some(last) = results.last_mut() {
            let message = self.agent.steering.take().map(|text| marked(&text));
            for text in message.into_iter().chain(self.agent.take_notices()) {
                add_text(last, &text);
            }
        }
        results
    }
}

/// The result as it is stored, with the images that the model can see.
fn result_content(executed: &ExecutedCall, sends_images: bool) -> MessageContent {
    let images = match &executed.value {
        Some(value) if sends_images => result_images(&executed.tool, value),
        _ => Vec::new(),
    };
    if images.is_empty() {
        return executed.text.clone().into();
    }
    let text = std::iter::once(ContentPart::Text(executed.text.clone()));
    let images = images.into_iter().map(|image| {
        ContentPart::Image(Image::Data {
            media_type: image.media_type.to_owned(),
            base64: image.base64,
        })
    });
    MessageContent::Parts(parts_value(&text.chain(images).collect::<Vec<_>>()))
}

fn add_text(result: &mut SessionMessage, more: &str) {
    match &mut result.content {
        Some(MessageContent::Text(text)) => add_to(text, more),
        Some(MessageContent::Parts(Value::Array(parts))) => {
            parts.push(json!({"type": "text", "text": more}));
        }
        _ => {}
    }
    if let Some(text) = &mut result.api_content {
        add_to(text, more);
    }
}

fn add_to(text: &mut String, more: &str) {
    text.push_str("\n\n");
    text.push_str(more);
}

fn arguments_of(text: &str) -> Option<Value> {
    if text.trim().is_empty() {
        return Some(json!({}));
    }
    let value: Value = serde_json::from_str(text).ok()?;
    value.is_object().then_some(value)
}

fn changed_paths(arguments: &Value) -> Vec<String> {
    const HEADERS: &[&str] = &["Update File:", "Add File:", "Delete File:", "Move to:"];
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    match (text("patch"), text("path")) {
        (Some(patch), _) => patch
            .lines()
            .filter_map(|line| line.trim_start().strip_prefix("***"))
            .filter_map(|line| {
                let line = line.trim_start();
                HEADERS.iter().find_map(|header| line.strip_prefix(header))
            })
            .map(|path| path.trim().to_owned())
            .filter(|path| !path.is_empty())
            .collect(),
        (None, path) => path.map(str::to_owned).into_iter().collect(),
    }
}

/// A name written by a model, shortened.
fn display_name(name: &str) -> String {
    name.chars().filter(|c| !c.is_control()).take(60).collect()
}
