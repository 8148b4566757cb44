//! What goes into a sub-agent and what comes out of it, as the tool that starts one sees it.

use std::time::Duration;

use serde_json::Value;

/// What a sub-agent is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildJob {
    pub goal: String,
    /// What the sub-agent needs to know; it sees nothing of the conversation that started it.
    pub context: Option<String>,
    /// Toolsets it may use; empty means those of its parent.
    pub toolsets: Vec<String>,
    /// Whether it may delegate further, where the settings allow that depth.
    pub may_delegate: bool,
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ChildStatus {
    Completed,
    Failed,
    Interrupted,
    #[serde(rename = "timeout")]
    TimedOut,
}

/// What a sub-agent leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildResult {
    pub status: ChildStatus,
    /// The answer, or why there is none.
    pub summary: String,
    /// Requests to the model.
    pub api_calls: u64,
    pub duration: Duration,
    pub model: String,
    /// Why the turn ended, in the words of the turn loop.
    pub exit_reason: String,
    pub input_tokens: u64,
    pub output_tokens: u64,
    /// The calls: `{"tool", "args_bytes", "result_bytes", "status"}` each.
    pub tool_trace: Vec<Value>,
}

impl ChildResult {
    /// The result of a sub-agent that never answered.
    pub fn failed(summary: impl Into<String>, exit_reason: &str) -> Self {
        Self {
            status: ChildStatus::Failed,
            summary: summary.into(),
            api_calls: 0,
            duration: Duration::ZERO,
            model: String::new(),
            exit_reason: exit_reason.to_owned(),
            input_tokens: 0,
            output_tokens: 0,
            tool_trace: Vec::new(),
        }
    }
}
