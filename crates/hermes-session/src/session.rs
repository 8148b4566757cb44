//! Sessions as plain data: fields of a new one, columns of a stored one, cost of a request.

use serde_json::Value;

use crate::SessionId;

/// Fields of a new session.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// The id; generated if none.
    pub id: Option<SessionId>,
    /// Where the session comes from: `cli`, `tui`, `acp`, `telegram`, `cron`, `tool`, ….
    pub source: String,
    /// The user, on platforms that have users.
    pub user_id: Option<String>,
    /// The model at the start.
    pub model: Option<String>,
    /// `{max_iterations, reasoning_config, max_tokens, …}`.
    pub model_config: Option<Value>,
    /// The exact system prompt.
    pub system_prompt: Option<String>,
    /// The session that this one continues, branches from or was delegated by.
    pub parent: Option<SessionId>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch checked out in it.
    pub git_branch: Option<String>,
    /// The root of its git repository.
    pub git_repo_root: Option<String>,
    /// The profile.
    pub profile_name: Option<String>,
    /// Key by which a gateway finds the session again.
    pub session_key: Option<String>,
    /// The chat.
    pub chat_id: Option<String>,
    /// The kind of chat.
    pub chat_type: Option<String>,
    /// The thread in the chat.
    pub thread_id: Option<String>,
}

/// Why a session ended. Other programs store further reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEndReason {
    /// The program was closed.
    AgentClose,
    /// The user began another session.
    NewSession,
}

impl SessionEndReason {
    /// The value of the `end_reason` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AgentClose => "agent_close",
            Self::NewSession => "new_session",
        }
    }
}

/// Token and call counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counters {
    /// Active messages.
    pub message_count: i64,
    /// Tool calls in active messages.
    pub tool_call_count: i64,
    /// Requests to the model.
    pub api_call_count: i64,
    /// Tokens sent, without those from a cache.
    pub input_tokens: i64,
    /// Tokens received.
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens written to that cache.
    pub cache_write_tokens: i64,
    /// Tokens of reasoning.
    pub reasoning_tokens: i64,
}

/// A session with its database columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// The id.
    pub id: SessionId,
    /// Where the session comes from: `cli`, `telegram`, ….
    pub source: String,
    /// The user.
    pub user_id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// `{max_iterations, …}`; absent if it is no JSON.
    pub model_config: Option<Value>,
    /// The exact system prompt.
    pub system_prompt: Option<String>,
    /// The session that this one continues or came from.
    pub parent: Option<SessionId>,
    /// Seconds since 1970.
    pub started_at: f64,
    /// Seconds since 1970, once the session has ended.
    pub ended_at: Option<f64>,
    /// Why the session ended, as stored.
    pub end_reason: Option<String>,
    /// Counters.
    pub counters: Counters,
    /// The provider that bills.
    pub billing_provider: Option<String>,
    /// The address of the provider.
    pub billing_base_url: Option<String>,
    /// How the provider bills.
    pub billing_mode: Option<String>,
    /// Estimated cost.
    pub estimated_cost_usd: Option<f64>,
    /// Cost reported by the provider.
    pub actual_cost_usd: Option<f64>,
    /// How certain the cost is.
    pub cost_status: Option<String>,
    /// Where the cost comes from.
    pub cost_source: Option<String>,
    /// The title.
    pub title: Option<String>,
    /// The working directory.
    pub cwd: Option<String>,
    /// The branch checked out in it.
    pub git_branch: Option<String>,
    /// The root of its git repository.
    pub git_repo_root: Option<String>,
    /// The profile.
    pub profile_name: Option<String>,
    /// Whether lists leave it out.
    pub archived: bool,
    /// How often turns were undone.
    pub rewind_count: i64,
}

/// The cost of one response of a model, added to the counters of its session.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct UsageRecord {
    /// Requests, usually one.
    pub api_calls: i64,
    /// Tokens sent, without those from a cache.
    pub input_tokens: i64,
    /// Tokens received.
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens written to that cache.
    pub cache_write_tokens: i64,
    /// Tokens of reasoning.
    pub reasoning_tokens: i64,
    /// Estimated cost.
    pub estimated_cost_usd: Option<f64>,
    /// Cost reported by the provider.
    pub actual_cost_usd: Option<f64>,
    /// How certain the cost is.
    pub cost_status: Option<String>,
    /// Where the cost comes from.
    pub cost_source: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// The provider.
    pub provider: Option<String>,
    /// Address of the provider.
    pub base_url: Option<String>,
    /// How the provider bills.
    pub billing_mode: Option<String>,
    /// The task: empty for the conversation itself, otherwise `compression`, `vision`,
    /// `title_generation`, …. The counters of the session take only the conversation.
    pub task: String,
}
