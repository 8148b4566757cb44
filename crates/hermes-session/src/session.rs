//! One session, as plain data: what a new one needs, what a stored one says, what a request cost.

use serde_json::Value;

use crate::SessionId;

/// What a new session is made with.
#[derive(Debug, Clone, Default)]
pub struct NewSession {
    /// Its id; a fresh one if none.
    pub id: Option<SessionId>,
    /// Where it comes from: `cli`, `tui`, `acp`, `telegram`, `cron`, `tool`, ….
    pub source: String,
    /// The person, on platforms that know one.
    pub user_id: Option<String>,
    /// The model it starts with.
    pub model: Option<String>,
    /// `{max_iterations, reasoning_config, max_tokens, …}`.
    pub model_config: Option<Value>,
    /// The exact system prompt.
    pub system_prompt: Option<String>,
    /// The session it continues, was branched from or was delegated by.
    pub parent: Option<SessionId>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Branch checked out there.
    pub git_branch: Option<String>,
    /// Root of the repository around it.
    pub git_repo_root: Option<String>,
    /// The profile.
    pub profile_name: Option<String>,
    /// Key by which a gateway finds it again.
    pub session_key: Option<String>,
    /// The chat it came from.
    pub chat_id: Option<String>,
    /// What kind of chat.
    pub chat_type: Option<String>,
    /// The thread in it.
    pub thread_id: Option<String>,
}

/// Why a session ended. Other programs have further words; they are kept as they are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EndReason {
    /// The program was left.
    AgentClose,
    /// The person began another one.
    NewSession,
    /// It goes on in a child that holds a summary (older files).
    Compression,
    /// It goes on in a child that was branched off.
    Branched,
    /// Any other word.
    Other(String),
}

impl EndReason {
    /// The word of the database.
    pub fn as_str(&self) -> &str {
        match self {
            Self::AgentClose => "agent_close",
            Self::NewSession => "new_session",
            Self::Compression => "compression",
            Self::Branched => "branched",
            Self::Other(word) => word,
        }
    }
}

/// Token and call counters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, serde::Serialize)]
pub struct Counters {
    /// Messages of the conversation as it stands.
    pub message_count: i64,
    /// Calls among them.
    pub tool_call_count: i64,
    /// Requests to the model.
    pub api_call_count: i64,
    /// Tokens sent, without those from a cache.
    pub input_tokens: i64,
    /// Tokens received.
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens written to it.
    pub cache_write_tokens: i64,
    /// Tokens of reasoning.
    pub reasoning_tokens: i64,
}

/// A session as it lies in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct Session {
    /// Its id.
    pub id: SessionId,
    /// Where it comes from.
    pub source: String,
    /// The person.
    pub user_id: Option<String>,
    /// The model.
    pub model: Option<String>,
    /// `{max_iterations, …}`; absent if it is no JSON.
    pub model_config: Option<Value>,
    /// The exact system prompt.
    pub system_prompt: Option<String>,
    /// The session it continues or came from.
    pub parent: Option<SessionId>,
    /// Seconds since 1970.
    pub started_at: f64,
    /// Seconds since 1970, once it is over.
    pub ended_at: Option<f64>,
    /// Why it is over, in the word of the database.
    pub end_reason: Option<String>,
    /// Counters.
    pub counters: Counters,
    /// Who is paid.
    pub billing_provider: Option<String>,
    /// Through which address.
    pub billing_base_url: Option<String>,
    /// How.
    pub billing_mode: Option<String>,
    /// What it cost by our reckoning.
    pub estimated_cost_usd: Option<f64>,
    /// What it cost as the provider said.
    pub actual_cost_usd: Option<f64>,
    /// How sure the cost is.
    pub cost_status: Option<String>,
    /// Where the cost comes from.
    pub cost_source: Option<String>,
    /// Its title.
    pub title: Option<String>,
    /// The directory it works in.
    pub cwd: Option<String>,
    /// Branch checked out there.
    pub git_branch: Option<String>,
    /// Root of the repository around it.
    pub git_repo_root: Option<String>,
    /// The profile.
    pub profile_name: Option<String>,
    /// Whether lists leave it out.
    pub archived: bool,
    /// How often something was taken back.
    pub rewind_count: i64,
}

/// What one response of a model cost; added to the counters.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Usage {
    /// Requests, usually one.
    pub api_calls: i64,
    /// Tokens sent, without those from a cache.
    pub input_tokens: i64,
    /// Tokens received.
    pub output_tokens: i64,
    /// Tokens read from the provider's cache.
    pub cache_read_tokens: i64,
    /// Tokens written to it.
    pub cache_write_tokens: i64,
    /// Tokens of reasoning.
    pub reasoning_tokens: i64,
    /// Cost by our reckoning.
    pub estimated_cost_usd: Option<f64>,
    /// Cost as the provider said.
    pub actual_cost_usd: Option<f64>,
    /// How sure the cost is.
    pub cost_status: Option<String>,
    /// Where it comes from.
    pub cost_source: Option<String>,
    /// Version of the price list.
    pub pricing_version: Option<String>,
    /// The model that answered.
    pub model: Option<String>,
    /// Its provider.
    pub provider: Option<String>,
    /// Address of the provider.
    pub base_url: Option<String>,
    /// How it is paid.
    pub billing_mode: Option<String>,
    /// What it was for: empty for the conversation itself, else `compression`, `vision`,
    /// `title_generation`, …. The counters of the session take only the conversation.
    pub task: String,
}
