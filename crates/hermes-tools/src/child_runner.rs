//! A sub-agent as the tool that starts one sees it: a job goes in, a result comes out.
//!
//! The turn loop implements this; tools depend on nothing but the trait. A runner never fails as a
//! Rust value: what went wrong is in the result.

use std::time::Duration;

use serde_json::Value;

use crate::context::CallContext;

/// What a sub-agent may start itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ChildRole {
    /// It works alone.
    #[default]
    Leaf,
    /// It may delegate further, where the settings allow that depth.
    Orchestrator,
}

/// What a sub-agent is to do.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChildJob {
    /// The task.
    pub goal: String,
    /// What it needs to know; it sees nothing of the conversation that started it.
    pub context: Option<String>,
    /// Toolsets it may use; empty means those of its parent.
    pub toolsets: Vec<String>,
    /// Whether it may delegate.
    pub role: ChildRole,
}

/// How a sub-agent ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChildStatus {
    /// It gave an answer.
    Completed,
    /// It did not.
    Failed,
    /// Somebody stopped it.
    Interrupted,
    /// It took too long.
    TimedOut,
}

impl ChildStatus {
    /// As results write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Interrupted => "interrupted",
            Self::TimedOut => "timeout",
        }
    }
}

/// What a sub-agent leaves.
#[derive(Debug, Clone, PartialEq)]
pub struct ChildResult {
    /// How it ended.
    pub status: ChildStatus,
    /// Its answer, or why there is none.
    pub summary: String,
    /// Requests it made to the model.
    pub api_calls: u64,
    /// How long it took.
    pub duration: Duration,
    /// The model that answered.
    pub model: String,
    /// Why its turn ended, in the words of the turn loop.
    pub exit_reason: String,
    /// Tokens it read.
    pub input_tokens: u64,
    /// Tokens it wrote.
    pub output_tokens: u64,
    /// Its calls: `{"tool", "args_bytes", "result_bytes", "status"}` each.
    pub tool_trace: Vec<Value>,
}

/// Runs sub-agents.
pub trait ChildRunner: Send + Sync {
    /// Runs one to its end, in this thread, and stops it when `context.interrupt` is raised. Several
    /// threads may call at once.
    fn run_child(&self, job: &ChildJob, context: &CallContext) -> ChildResult;
}
