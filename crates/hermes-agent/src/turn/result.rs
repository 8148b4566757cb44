//! The result of a turn.

use hermes_providers::{Cost, ProviderError, RouteInfo, TokenUsage};
use hermes_session::SessionId;
use serde_json::Value;

/// The outcome of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TurnOutcome {
    Completed,
    /// The answer is incomplete, or the budget is used up.
    Partial,
    Failed,
    Interrupted,
}

/// Why a turn ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitReason {
    /// An answer, with the finish reason of the provider.
    TextResponse(&'static str),
    MaxIterations,
    /// Interrupted between requests.
    Interrupted,
    InterruptedDuringRequest,
    GuardrailHalt,
    /// All answers were empty.
    EmptyResponse,
    /// The connection broke repeatedly after a part of the answer.
    PartialStream,
    /// The answer is the text beside an earlier call.
    PriorContent,
    Truncated,
    UnknownTools,
    /// The conversation does not fit and cannot be compacted further.
    CompressionExhausted,
    /// The provider failed.
    AllRetriesExhausted,
    StoreFailed,
}

impl ExitReason {
    /// The name in logs and reports.
    pub fn name(&self) -> String {
        match self {
            Self::TextResponse(finish) => format!("text_response({finish})"),
            Self::MaxIterations => "max_iterations_reached".to_owned(),
            Self::Interrupted => "interrupted_by_user".to_owned(),
            Self::InterruptedDuringRequest => "interrupted_during_api_call".to_owned(),
            Self::GuardrailHalt => "guardrail_halt".to_owned(),
            Self::EmptyResponse => "empty_response_exhausted".to_owned(),
            Self::PartialStream => "partial_stream_recovery".to_owned(),
            Self::PriorContent => "fallback_prior_turn_content".to_owned(),
            Self::Truncated => "truncated_response".to_owned(),
            Self::UnknownTools => "unknown_tools".to_owned(),
            Self::CompressionExhausted => "compression_exhausted".to_owned(),
            Self::AllRetriesExhausted => "all_retries_exhausted_no_response".to_owned(),
            Self::StoreFailed => "session_store_failed".to_owned(),
        }
    }
}

/// The failure of a turn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// The class of the provider error, or one of this crate.
    pub reason: &'static str,
    /// The message, one line.
    pub message: String,
    pub hint: Option<String>,
    /// Errors of the attempts, one line each.
    pub history: Vec<String>,
    /// Whether a quota is exhausted, so that waiting or paying helps.
    pub is_quota: bool,
}

impl TurnFailure {
    /// A failure of this crate, with a hint.
    pub(crate) fn own(reason: &'static str, message: impl Into<String>, hint: &str) -> Self {
        Self {
            reason,
            message: message.into(),
            hint: (!hint.is_empty()).then(|| hint.to_owned()),
            history: Vec::new(),
            is_quota: false,
        }
    }
}

impl From<&ProviderError> for TurnFailure {
    fn from(error: &ProviderError) -> Self {
        Self {
            reason: error.class.name(),
            message: error.to_string(),
            hint: error.hint(),
            history: error.history.clone(),
            is_quota: error.class.is_quota(),
        }
    }
}

/// The result of a turn.
#[derive(Debug, Clone)]
pub struct TurnResult {
    /// The answer, possibly partial.
    pub final_response: Option<String>,
    pub last_reasoning: Option<String>,
    pub outcome: TurnOutcome,
    pub exit_reason: ExitReason,
    /// The failure, if any.
    pub failure: Option<TurnFailure>,
    /// Requests to the model.
    pub api_calls: u64,
    /// Maximum requests with tools.
    pub max_iterations: u32,
    pub usage: TokenUsage,
    pub cost: Cost,
    /// A user message that came too late for this turn.
    pub pending_steer: Option<String>,
    /// Files whose last change in this turn failed.
    pub unwritten_files: Vec<String>,
    /// The tool calls: `{"tool", "args_bytes", "result_bytes", "status"}` each.
    pub tool_trace: Vec<Value>,
    pub route: RouteInfo,
    pub session_id: SessionId,
}
