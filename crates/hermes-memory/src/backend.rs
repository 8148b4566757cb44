//! What a memory service has to do.

use std::sync::Arc;

use hermes_proc::Wake;
use serde_json::Value;

/// Somebody's words in a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Said {
    /// `user` or `assistant`.
    pub role: &'static str,
    pub text: String,
}

/// A turn that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CompletedTurn {
    pub session: String,
    pub user: String,
    pub assistant: String,
    /// The whole conversation, for services that want it; empty otherwise.
    pub conversation: Vec<Said>,
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// A clause without secrets and addresses.
    pub reason: String,
    /// Whether what was asked for was at fault, not the service.
    pub is_of_request: bool,
}

impl Failure {
    /// The service did not do its part.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_of_request: false,
        }
    }

    /// It cannot be done as it was asked for.
    pub fn of_request(reason: impl Into<String>) -> Self {
        Self {
            reason: reason.into(),
            is_of_request: true,
        }
    }
}

impl std::fmt::Display for Failure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.reason)
    }
}

/// A tool that a service offers to the model.
#[derive(Debug, Clone)]
pub struct MemoryTool {
    pub name: &'static str,
    pub description: &'static str,
    /// JSON schema of its arguments.
    pub schema: Arc<Value>,
    pub only_reads: bool,
}

/// A service that remembers. Each call blocks, and ends soon after `stop` was raised.
pub trait MemoryBackend: Send + Sync {
    /// The name in `memory.provider`.
    fn name(&self) -> &str;

    /// What is known about a message, one fact each; the best first.
    fn recall(&self, query: &str, session: &str, stop: &Wake) -> Result<Vec<String>, Failure>;

    /// Takes a turn.
    fn keep(&self, turn: &CompletedTurn, stop: &Wake) -> Result<(), Failure>;

    /// Whether turns come with the whole conversation.
    fn wants_conversation(&self) -> bool {
        false
    }

    /// Tools beside recalling and keeping.
    fn tools(&self) -> Vec<MemoryTool> {
        Vec::new()
    }

    /// Calls one of its tools.
    fn call(&self, tool: &str, _args: &Value, _stop: &Wake) -> Result<Value, Failure> {
        Err(Failure::of_request(format!("there is no tool {tool}")))
    }

    /// Whether the service answers and lets this account in; a clause about what it has.
    fn check(&self, stop: &Wake) -> Result<String, Failure>;
}
