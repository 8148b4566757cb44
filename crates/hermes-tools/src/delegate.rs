//! `delegate_task`: work that other agents do while this one waits.
//!
//! What runs those agents stands behind [`Delegate`]; here is what a call may ask for and how the
//! answer looks.

use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use crate::argument::{Argument, Kind};
use crate::context::CallContext;
use crate::tool::{Tool, error};

/// Most tasks of one call.
pub const MOST_DELEGATED: usize = 3;

/// What an agent that is given work may do in turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DelegateRole {
    /// It does the work itself.
    #[default]
    Leaf,
    /// It may hand on parts, as far as the settings allow.
    Orchestrator,
}

/// One piece of work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DelegatedTask {
    /// What is to be achieved. The other agent knows nothing else but the context.
    pub goal: String,
    /// What it has to know.
    pub context: Option<String>,
    /// Toolsets it gets; none for those of the conversation.
    pub toolsets: Vec<String>,
    /// What it may do in turn.
    pub role: DelegateRole,
}

/// How a piece of work ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DelegatedResult {
    /// `completed`, `failed`, `timeout` or `interrupted`.
    pub status: String,
    /// What the agent said last.
    pub summary: Option<String>,
    /// What went wrong.
    pub error: Option<String>,
    /// Requests to the model.
    pub api_calls: u64,
    /// How long it took.
    pub duration: Duration,
    /// The model.
    pub model: Option<String>,
    /// Why its turn ended.
    pub exit_reason: Option<String>,
    /// Tokens sent.
    pub input_tokens: u64,
    /// Tokens received.
    pub output_tokens: u64,
    /// Tools it called, in order, with how each went.
    pub tool_trace: Vec<Value>,
}

/// Runs agents for a conversation.
pub trait Delegate: Send + Sync {
    /// Works on all tasks, side by side, and answers in their order. Ends early when
    /// `context.interrupt` is raised. The error is a sentence about the whole call.
    fn run(
        &self,
        tasks: &[DelegatedTask],
        context: &CallContext,
    ) -> Result<Vec<DelegatedResult>, String>;

    /// Why nothing can be handed on here, if so: an agent that was given work itself.
    fn refusal(&self) -> Option<String> {
        None
    }
}

const TASK_FIELDS: &[Argument] = &[
    Argument::required("goal", Kind::Text, "What is to be achieved."),
    Argument::optional("context", Kind::Text, "What the other agent has to know."),
    Argument::optional("toolsets", Kind::Texts, "Toolsets it gets."),
    Argument::optional(
        "role",
        Kind::Choice(&["leaf", "orchestrator"]),
        "Whether it may hand on parts itself.",
    ),
];

/// The tool.
#[derive(Debug, Clone, Copy, Default)]
pub struct DelegateTool;

impl Tool for DelegateTool {
    fn name(&self) -> &'static str {
        "delegate_task"
    }

    fn toolset(&self) -> &'static str {
        "delegation"
    }

    fn description(&self) -> &'static str {
        "Hands work to other agents and waits for them. Each has a conversation and a terminal of \
         its own and knows only the goal and the context it is given: put paths, names and \
         constraints into them. Only their summary comes back. Use it for work that fills the \
         context with details, or for up to three independent pieces side by side (tasks). Not for \
         a single tool call, and not for anything that needs the user. Verify what a summary \
         claims before relying on it."
    }

    fn arguments(&self) -> &'static [Argument] {
        const ARGUMENTS: &[Argument] = &[
            Argument::optional("goal", Kind::Text, "What is to be achieved."),
            Argument::optional("context", Kind::Text, "What the other agent has to know."),
            Argument::optional("toolsets", Kind::Texts, "Toolsets it gets."),
            Argument::optional(
                "role",
                Kind::Choice(&["leaf", "orchestrator"]),
                "Whether it may hand on parts itself. Default leaf.",
            ),
            Argument::optional(
                "tasks",
                Kind::Records(TASK_FIELDS),
                "Up to three pieces of work side by side, instead of goal.",
            ),
        ];
        ARGUMENTS
    }

    fn unavailable(&self, context: &CallContext) -> Option<String> {
        match &context.conversation.delegate {
            Some(delegate) => delegate.refusal(),
            None => Some("this call has no conversation that could hand on work".to_owned()),
        }
    }

    fn call(&self, args: &Value, context: &CallContext) -> Value {
        if let Some(reason) = self.unavailable(context) {
            return error(format!("Nothing can be delegated: {reason}."));
        }
        let tasks = match tasks_of(args) {
            Ok(tasks) => tasks,
            Err(message) => return error(message),
        };
        let Some(delegate) = &context.conversation.delegate else {
            return error("Nothing can be delegated.");
        };
        let started = Instant::now();
        match delegate.run(&tasks, context) {
            Ok(results) => json!({
                "results": results.iter().enumerate().map(to_json).collect::<Vec<_>>(),
                "total_duration_seconds": two_decimals(started.elapsed()),
            }),
            Err(message) => error(message),
        }
    }
}

fn tasks_of(args: &Value) -> Result<Vec<DelegatedTask>, String> {
    let single = args.get("goal").is_some();
    let tasks = match args["tasks"].as_array().filter(|tasks| !tasks.is_empty()) {
        Some(_) if single => return Err("Give either goal or tasks, not both.".to_owned()),
        Some(tasks) if tasks.len() > MOST_DELEGATED => {
            return Err(format!(
                "At most {MOST_DELEGATED} tasks at once, got {}.",
                tasks.len()
            ));
        }
        Some(tasks) => tasks.as_slice(),
        None if single => std::slice::from_ref(args),
        None => return Err("Give a goal, or tasks with a goal each.".to_owned()),
    };
    tasks.iter().map(task_of).collect()
}

fn task_of(fields: &Value) -> Result<DelegatedTask, String> {
    let text = |name: &str| {
        let text = fields[name].as_str().map(str::trim);
        text.filter(|text| !text.is_empty()).map(str::to_owned)
    };
    let toolsets = fields["toolsets"].as_array().map(Vec::as_slice);
    Ok(DelegatedTask {
        goal: text("goal").ok_or("A goal is empty.")?,
        context: text("context"),
        toolsets: toolsets
            .unwrap_or_default()
            .iter()
            .filter_map(Value::as_str)
            .map(str::to_owned)
            .collect(),
        role: match fields["role"].as_str() {
            Some("orchestrator") => DelegateRole::Orchestrator,
            _ => DelegateRole::Leaf,
        },
    })
}

fn to_json((index, result): (usize, &DelegatedResult)) -> Value {
    let mut fields = Map::new();
    let mut put = |name: &str, value: Value| fields.insert(name.to_owned(), value);
    put("task_index", json!(index));
    put("status", json!(result.status));
    put("summary", json!(result.summary));
    put("api_calls", json!(result.api_calls));
    put("duration_seconds", json!(two_decimals(result.duration)));
    put("model", json!(result.model));
    put("exit_reason", json!(result.exit_reason));
    put(
        "tokens",
        json!({"input": result.input_tokens, "output": result.output_tokens}),
    );
    put("tool_trace", json!(result.tool_trace));
    if let Some(problem) = &result.error {
        put("error", json!(problem));
    }
    Value::Object(fields)
}

fn two_decimals(duration: Duration) -> f64 {
    (duration.as_secs_f64() * 100.0).round() / 100.0
}
