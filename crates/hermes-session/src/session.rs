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
    pub user_id: Option<String>,
    /// The model at the start.
    pub model: Option<String>,
    /// `{max_iterations, reasoning_config, max_tokens, …}`.
    pub model_config: Option<Value>,
    /// The exact system prompt.
    pub system_prompt: Option<String>,
    /// The session that this one continues, branches from or was delegated by.
    pub parent: Option<SessionId>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub git_repo_root: Option<String>,
    pub profile_name: Option<String>,
    /// Key by which a gateway finds the session again.
    pub session_key: Option<String>,
    pub chat_id: Option<String>,
    pub chat_type: Option<String>,
    pub thread_id: Option<String>,
}

/// Why a session ended. Other programs store further reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionEndReason {
    AgentClose,
    /// The user began another session.
    NewSession,
    /// The conversation goes on in a copy.
    Branched,
}

impl SessionEndReason {
    /// The value of the `end_reason` column.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::AgentClose => "agent_close",
            Self::NewSession => "new_session",
            Self::Branched => "branched",
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
    pub output_tokens: i64,
    pub cache_read_tokens: i64,
    pub cache_write_tokens: i64,
    pub reasoning_tokens: i64,
}

/// A session with its database columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    pub id: SessionId,
    pub source: String,
    pub user_id: Option<String>,
    pub model: Option<String>,
    /// `{max_iterations, …}`; absent if it is no JSON.
    pub model_config: Option<Value>,
    pub system_prompt: Option<String>,
    pub parent: Option<SessionId>,
    /// Seconds since 1970.
    pub started_at: f64,
    /// Seconds since 1970, once the session has ended.
    pub ended_at: Option<f64>,
    /// Why the session ended, as stored.
    pub end_reason: Option<String>,
    pub counters: Counters,
    pub billing_provider: Option<String>,
    pub billing_base_url: Option<String>,
    pub billing_mode: Option<String>,
    pub estimated_cost_usd: Option<f64>,
    /// Cost reported by the provider.
    pub actual_cost_usd: Option<f64>,
    pub cost_status: Option<String>,
    pub cost_source: Option<String>,
    pub title: Option<String>,
    pub cwd: Option<String>,
    pub git_branch: Option<String>,
    pub git_repo_root: Option<String>,
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
    pub input_tokens: i64,
    pub output_tokens: i64,
    pub cache_read_tokens: i64,
    pub cache_write_tokens: i64,
    pub reasoning_tokens: i64,
    pub estimated_cost_usd: Option<f64>,
    pub actual_cost_usd: Option<f64>,
    pub cost_status: Option<String>,
    pub cost_source: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    pub provider: Option<String>,
    pub base_url: Option<String>,
    pub billing_mode: Option<String>,
    /// The task: empty for the conversation itself, otherwise `compression`, `vision`,
    /// `title_generation`, …. The counters of the session take only the conversation.
    pub task: String,
}
