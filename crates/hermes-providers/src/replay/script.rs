//! The script of the replay provider as data.

use std::path::{Path, PathBuf};
use std::time::Duration;

use hermes_config::yaml::{Document, Node, NodeKind};
use serde_json::Value;

use super::condition::Condition;
use super::reader::{Complaint, Fields, fields};
use crate::error::{ErrorClass, Failure};
use crate::response::{Finish, Usage};

/// Largest script that is read.
const MAX_BYTES: u64 = 4 << 20;

/// Longest wait a script may ask for.
const MAX_DELAY: f64 = 3_600.0;

/// A script that cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the replay script cannot be read: {0}")]
    File(#[source] hermes_fs::Error),
    /// Its text is no script.
    #[error("{}, line {line}: {reason}", path.display())]
    Text {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is wrong there.
        reason: String,
    },
}

impl ScriptError {
    /// What the user can do.
    pub fn hint(&self) -> &'static str {
        match self {
            Self::File(_) => "`model.script` names the file of turns for the provider `replay`",
            Self::Text { .. } => {
                "a script is `turns:`, each with `match` (optional), `text`, `calls`, `delay` or \
                 `error`"
            }
        }
    }
}

/// Turns to play.
#[derive(Debug, Clone)]
pub struct Script {
    pub(super) turns: Vec<Turn>,
    pub(super) model: Option<String>,
    pub(super) context_length: Option<u64>,
}

/// One answer.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) line: usize,
    pub(super) condition: Option<Condition>,
    /// How often it is played in one process; `None` for ever.
    pub(super) times: Option<u64>,
    pub(super) delay: Duration,
    pub(super) outcome: Outcome,
}

#[derive(Debug, Clone)]
pub(super) enum Outcome {
    Answer(Answer),
    Error(Failure),
}

#[derive(Debug, Clone)]
pub(super) struct Answer {
    pub(super) text: String,
    pub(super) think: Option<String>,
    pub(super) calls: Vec<Call>,
    pub(super) finish: Option<Finish>,
    pub(super) usage: Option<Usage>,
}

#[derive(Debug, Clone)]
pub(super) struct Call {
    pub(super) tool: String,
    pub(super) arguments: Value,
    pub(super) id: Option<String>,
}

impl Script {
    /// Reads a file.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = hermes_fs::read_text_capped(path, MAX_BYTES).map_err(ScriptError::File)?;
        Self::parse(&text, path)
    }

    /// Reads a text; `path` is for messages.
    pub fn parse(text: &str, path: &Path) -> Result<Self, ScriptError> {
        let wrong = |complaint: Complaint| ScriptError::Text {
            path: path.to_owned(),
            line: complaint.line,
            reason: complaint.reason,
        };
        let document = Document::parse(text).map_err(|error| {
            wrong(Complaint {
                line: error.line,
                reason: error.message,
            })
        })?;
        read_script(document.root()).map_err(wrong)
    }
}

fn read_script(root: &Node) -> Result<Script, Complaint> {
    let top = fields(root, "a script", &["turns", "model", "context_length"])?;
    if top.get("turns").is_none() {
        return Err(Complaint::new(root, "a script needs a list `turns`"));
    }
    let turns = top.list("turns")?;
    if turns.is_empty() {
        return Err(Complaint::new(root, "`turns` is empty"));
    }
    Ok(Script {
        turns: turns
            .iter()
            .map(|turn| read_turn(turn))
            .collect::<Result<_, _>>()?,
        model: top.text("model")?,
        context_length: top.whole("context_length")?,
    })
}

fn read_turn(node: &Node) -> Result<Turn, Complaint> {
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
                    return Err(Complaint::new(other, reason));
                }
            }
            Outcome::Error(read_error(error)?)
        }
        None => Outcome::Answer(read_answer(node, turn)?),
    };
    let times = match (turn.text("times")?.as_deref(), &outcome) {
        (Some("always"), _) | (None, Outcome::Answer(_)) => None,
        (Some(_), _) => turn.whole("times")?,
        // Whoever asks again after an error gets what comes next.
        (None, Outcome::Error(_)) => Some(1),
    };
    let delay = turn.number("delay")?.unwrap_or_default();
    if delay > MAX_DELAY {
        return Err(Complaint::new(
            node,
            "`delay` is in seconds, an hour at most",
        ));
    }
    Ok(Turn {
        line: node.line,
        condition: condition.transpose()?,
        times,
        delay: Duration::from_secs_f64(delay),
        outcome,
    })
}

fn read_answer(node: &Node, turn: Fields<'_>) -> Result<Answer, Complaint> {
    let calls = turn.list("calls")?;
    let answer = Answer {
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
        return Err(Complaint::new(node, reason));
    }
    Ok(answer)
}

fn read_call(node: &Node) -> Result<Call, Complaint> {
    let call = fields(node, "a call", &["tool", "arguments", "id"])?;
    let Some(tool) = call.text("tool")?.filter(|tool| !tool.trim().is_empty()) else {
        return Err(Complaint::new(node, "a call needs `tool`"));
    };
    let arguments = match call.get("arguments") {
        None => Value::Object(serde_json::Map::new()),
        Some(node) => value(node),
    };
    Ok(Call {
        tool,
        arguments,
        id: call.text("id")?,
    })
}

fn read_finish(turn: Fields<'_>) -> Result<Option<Finish>, Complaint> {
    let Some(name) = turn.text("finish")? else {
        return Ok(None);
    };
    Ok(Some(match name.as_str() {
        "stop" => Finish::Stop,
        "tool_calls" => Finish::ToolCalls,
        "length" => Finish::Length,
        "content_filter" => Finish::ContentFilter,
        "cut" => Finish::Cut,
        _ => {
            let line = turn.get("finish").map_or(0, |node| node.line);
            let reason = "`finish` is stop, tool_calls, length, content_filter or cut".to_owned();
            return Err(Complaint { line, reason });
        }
    }))
}

fn read_usage(turn: Fields<'_>) -> Result<Option<Usage>, Complaint> {
    let Some(node) = turn.get("usage") else {
        return Ok(None);
    };
    let known = ["input", "output", "cache_read", "cache_write", "reasoning"];
    let usage = fields(node, "`usage`", &known)?;
    let count = |key| usage.whole(key).map(Option::unwrap_or_default);
    Ok(Some(Usage {
        input: count("input")?,
        output: count("output")?,
        cache_read: count("cache_read")?,
        cache_write: count("cache_write")?,
        reasoning: count("reasoning")?,
    }))
}

fn read_error(node: &Node) -> Result<Failure, Complaint> {
    if !node.is_map() {
        let class = read_class(node, &super::reader::text(node, "error")?)?;
        return Ok(Failure::new(class, "as the script says"));
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
        Some(class) => read_class(class, &super::reader::text(class, "class")?)?,
        None => return Err(Complaint::new(node, "`error` needs `class`")),
    };
    let message = error.text("message")?;
    let message = message.unwrap_or_else(|| "as the script says".to_owned());
    let retry_after = error.number("retry_after")?;
    Ok(Failure {
        status: error
            .whole("status")?
            .and_then(|status| u16::try_from(status).ok()),
        retry_after: retry_after.map(|seconds| Duration::from_secs_f64(seconds.min(MAX_DELAY))),
        stated_limit: error.whole("stated_limit")?,
        available_output: error.whole("available_output")?,
        ..Failure::new(class, message)
    })
}

fn read_class(node: &Node, name: &str) -> Result<ErrorClass, Complaint> {
    ErrorClass::parse(name).ok_or_else(|| {
        let names: Vec<&str> = ErrorClass::ALL.iter().map(|class| class.name()).collect();
        let reason = format!("there is no error class `{name}`: {}", names.join(", "));
        Complaint::new(node, reason)
    })
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
