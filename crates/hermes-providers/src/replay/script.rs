//! The script of the replay provider.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::yaml::{Document, Node, NodeKind};
use serde_json::Value;

use super::condition::Condition;
use super::reader::{ScriptFields, ScriptProblem, fields, text, unknown};
use crate::error::{ErrorClass, ProviderFailure};
use crate::response::{FinishReason, TokenUsage};

/// Largest accepted script.
const MAX_BYTES: u64 = 4 << 20;

/// Longest delay of a turn, in seconds.
const MAX_DELAY: f64 = 3_600.0;

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    #[error("could not read the replay script: {0}")]
    File(#[source] hermes_fs::Error),
    #[error("{}, line {line}: {reason}", path.display())]
    Text {
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        reason: String,
    },
}

impl ScriptError {
    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File(_) => {
                "set `model.script` to the file with the turns of the provider `replay`"
            }
            Self::Text { .. } => {
                "a script has `turns:`, each with `match` (optional), `text`, `calls`, `delay` or `error`"
            }
        }
    }
}

/// The turns to play.
#[derive(Debug, Clone)]
pub struct ReplayScript {
    pub(super) turns: Vec<ScriptTurn>,
    pub(super) model: Option<String>,
    pub(super) context_length: Option<u64>,
}

/// One turn of a script.
#[derive(Debug, Clone)]
pub(super) struct ScriptTurn {
    pub(super) line: usize,
    pub(super) condition: Option<Condition>,
    /// How often the turn is played in one process; `None` for no limit.
    pub(super) times: Option<u64>,
    pub(super) delay: Duration,
    pub(super) outcome: Result<ScriptedAnswer, ProviderFailure>,
}

#[derive(Debug, Clone)]
pub(super) struct ScriptedAnswer {
    pub(super) text: String,
    pub(super) think: Option<String>,
    pub(super) calls: Vec<ScriptedCall>,
    pub(super) finish: Option<FinishReason>,
    pub(super) usage: Option<TokenUsage>,
}

#[derive(Debug, Clone)]
pub(super) struct ScriptedCall {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) id: Option<String>,
}

impl ReplayScript {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = hermes_fs::read_text_capped(path, MAX_BYTES).map_err(ScriptError::File)?;
        Self::parse(&text, path)
    }

    /// Parses a script; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScriptError> {
        let wrong = |complaint: ScriptProblem| ScriptError::Text {
            path: path.to_owned(),
            line: complaint.line,
            reason: complaint.reason,
        };
        let document = Document::parse(text).map_err(|error| {
            wrong(ScriptProblem {
                line: error.line,
                reason: error.message,
            })
        })?;
        read_script(document.root()).map_err(wrong)
    }
}

fn read_script(root: &Node) -> Result<ReplayScript, ScriptProblem> {
    // The last three belong to a demo, which has cards and turns in one file.
    let known = [
        "turns",
        "model",
        "context_length",
        "title",
        "profiles",
        "cards",
    ];
    let top = fields(root, "a script", &known)?;
    if top.get("turns").is_none() {
        return Err(ScriptProblem::new(root, "a script needs a list `turns`"));
    }
    let turns = top.list("turns")?;
    if turns.is_empty() {
        return Err(ScriptProblem::new(root, "`turns` is empty"));
    }
    Ok(ReplayScript {
        turns: turns
            .iter()
            .map(|turn| read_turn(turn))
            .collect::<Result<_, _>>()?,
        model: top.text("model")?,
        context_length: top.whole("context_length")?,
    })
}

fn read_turn(node: &Node) -> Result<ScriptTurn, ScriptProblem> {
    let known = [
        "match", "times", "delay", "text", "think", "calls", "finish", "usage", "error",
    ];
    let turn = fields(node, "a turn", &known)?;
    let condition = turn.get("match").map(|node| Condition::read(node));
    let outcome = match turn.get("error") {
        Some(error) => {
            for key in ["text", "think", "calls", "finish", "usage"] {
                if let Some(other) = turn.get(key) {
                    let reason = format!("a turn has `error` or `{key}`, not both");
                    return Err(ScriptProblem::new(other, reason));
                }
            }
            Err(read_error(error)?)
        }
        None => Ok(read_answer(node, turn)?),
    };
    let times = match (turn.text("times")?.as_deref(), &outcome) {
        (Some("always"), _) | (None, Ok(_)) => None,
        (Some(_), _) => turn.whole("times")?,
        // A retry after an error gets the next turn.
        (None, Err(_)) => Some(1),
    };
    let delay = turn.number("delay")?.unwrap_or_default();
    if delay > MAX_DELAY {
        return Err(ScriptProblem::new(
            node,
            "`delay` is in seconds, at most an hour (3600)",
        ));
    }
    Ok(ScriptTurn {
        line: node.line,
        condition: condition.transpose()?,
        times,
        delay: Duration::from_secs_f64(delay),
        outcome,
    })
}

fn read_answer(node: &Node, turn: ScriptFields<'_>) -> Result<ScriptedAnswer, ScriptProblem> {
    let calls = turn.list("calls")?;
    let answer = ScriptedAnswer {
        text: turn.text("text")?.unwrap_or_default(),
        think: turn.text("think")?,
        calls: calls
            .iter()
            .map(|call| read_call(call))
            .collect::<Result<_, _>>()?,
        finish: read_finish(turn)?,
        usage: read_usage(turn)?,
    };
    let says_something = turn.get("text").is_some() || answer.think.is_some();
    if !says_something && answer.calls.is_empty() {
        let reason = "a turn needs `text`, `calls` or `error`";
        return Err(ScriptProblem::new(node, reason));
    }
    Ok(answer)
}

fn read_call(node: &Node) -> Result<ScriptedCall, ScriptProblem> {
    let call = fields(node, "a call", &["tool", "arguments", "id"])?;
    let Some(tool) = call.text("tool")?.filter(|tool| !tool.trim().is_empty()) else {
        return Err(ScriptProblem::new(node, "a call needs `tool`"));
    };
    let arguments = match call.get("arguments") {
        None => Value::Object(serde_json::Map::new()),
        Some(node) => value(node),
    };
    Ok(ScriptedCall {
        tool,
        arguments,
        id: call.text("id")?,
    })
}

fn read_finish(turn: ScriptFields<'_>) -> Result<Option<FinishReason>, ScriptProblem> {
    let Some(name) = turn.text("finish")? else {
        return Ok(None);
    };
    Ok(Some(match name.as_str() {
        "stop" => FinishReason::Stop,
        "tool_calls" => FinishReason::ToolCalls,
        "length" => FinishReason::Length,
        "content_filter" => FinishReason::ContentFilter,
        "cut" => FinishReason::Truncated,
        _ => {
            let line = turn.get("finish").map_or(0, |node| node.line);
            let reason = "`finish` is stop, tool_calls, length, content_filter or cut".to_owned();
            return Err(ScriptProblem { line, reason });
        }
    }))
}

fn read_usage(turn: ScriptFields<'_>) -> Result<Option<TokenUsage>, ScriptProblem> {
    let Some(node) = turn.get("usage") else {
        return Ok(None);
    };
    let known = ["input", "output", "cache_read", "cache_write", "reasoning"];
    let usage = fields(node, "`usage`", &known)?;
    let count = |key| usage.whole(key).map(Option::unwrap_or_default);
    Ok(Some(TokenUsage {
        input: count("input")?,
        output: count("output")?,
        cache_read: count("cache_read")?,
        cache_write: count("cache_write")?,
        reasoning: count("reasoning")?,
    }))
}

fn read_error(node: &Node) -> Result<ProviderFailure, ScriptProblem> {
    if !node.is_map() {
        let class = read_class(node, &text(node, "error")?)?;
        return Ok(ProviderFailure::new(class, "error from the script"));
    }
    let known = [
        "class",
        "message",
        "status",
        "retry_after",
        "stated_limit",
        "available_output",
    ];
    let error = fields(node, "`error`", &known)?;
    let class = match error.get("class") {
        Some(class) => read_class(class, &text(class, "class")?)?,
        None => return Err(ScriptProblem::new(node, "`error` needs `class`")),
    };
    let message = error.text("message")?;
    let message = message.unwrap_or_else(|| "error from the script".to_owned());
    let retry_after = error.number("retry_after")?;
    Ok(ProviderFailure {
        status: error
            .whole("status")?
            .and_then(|status| u16::try_from(status).ok()),
        retry_after: retry_after.map(|seconds| Duration::from_secs_f64(seconds.min(MAX_DELAY))),
        stated_limit: error.whole("stated_limit")?,
        available_output: error.whole("available_output")?,
        ..ProviderFailure::new(class, message)
    })
}

fn read_class(node: &Node, name: &str) -> Result<ErrorClass, ScriptProblem> {
    let names = ErrorClass::ALL.iter().map(|class| class.name());
    ErrorClass::parse(name).ok_or_else(|| unknown(node, "error class", name, names))
}

/// The plain data of a node.
fn value(node: &Node) -> Value {
    match &node.target().kind {
        NodeKind::Scalar(value) => value.clone(),
        NodeKind::List { items, .. } => items.iter().map(|item| value(item)).collect(),
        NodeKind::Map { entries, .. } => entries
            .iter()
            .map(|entry| (entry.key.clone(), value(&entry.value)))
            .collect(),
        // `target` follows aliases.
        NodeKind::Alias(_) => Value::Null,
    }
}
