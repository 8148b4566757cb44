//! How a turn ended.

use hermes_providers::{Cost, ErrorClass, ProviderError, RouteInfo, Usage};
use hermes_session::SessionId;
use serde_json::Value;

/// What became of a turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The model gave its answer.
    Completed,
    /// There is an answer, but not all of it, or the budget is used up.
    Partial,
    /// There is none.
    Failed,
    /// Somebody stopped it.
    Interrupted,
}

/// Why a turn ended, as logs and reports name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExitReason {
    /// An answer; the finish reason of the provider.
    TextResponse(&'static str),
    /// The budget was used up.
    MaxIterations,
    /// Stopped between requests.
    Interrupted,
    /// Stopped during a request.
    InterruptedDuringRequest,
    /// The model went round in circles.
    GuardrailHalt,
    /// Nothing came, however often it was asked.
    EmptyResponse,
    /// The connection broke after part of the answer, again and again.
    PartialStream,
    /// The answer is text that came with an earlier call.
    PriorContent,
    /// The answer stayed cut.
    Truncated,
    /// Nothing but tools that do not exist.
    UnknownTools,
    /// The conversation does not fit, and could not be made to.
    CompressionExhausted,
    /// The provider failed.
    AllRetriesExhausted,
    /// The session could not be written.
    StoreFailed,
}

impl ExitReason {
    /// As reports write it.
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

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnFailure {
    /// In one word: the class of the provider's error, or our own.
    pub reason: &'static str,
    /// One line.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
    /// What was tried, a line each.
    pub history: Vec<String>,
    /// Whether waiting or paying would help: a quota wall, not a bug.
    pub is_quota: bool,
}

impl TurnFailure {
    /// A failure that is not a provider's, and what to do about it.
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
            is_quota: matches!(
                error.class,
                ErrorClass::RateLimit | ErrorClass::Billing | ErrorClass::Overloaded
            ),
        }
    }
}

/// Everything there is to know about a turn that ended.
#[derive(Debug, Clone)]
pub struct TurnResult {
    /// The answer, or what there is of it.
    pub final_response: Option<String>,
    /// What the model thought before its last answer.
    pub last_reasoning: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
    /// Why it ended.
    pub exit_reason: ExitReason,
    /// What went wrong, if anything.
    pub failure: Option<TurnFailure>,
    /// Requests to the model.
    pub api_calls: u64,
    /// Most requests that might have led to calls.
    pub max_iterations: u32,
    /// Tokens of all of them.
    pub usage: Usage,
    /// What they cost together.
    pub cost: Cost,
    /// Words that came too late for this turn; the next one begins with them.
    pub pending_steer: Option<String>,
    /// Files whose last change in this turn failed.
    pub unwritten_files: Vec<String>,
    /// The calls: `{"tool", "args_bytes", "result_bytes", "status"}` each.
    pub tool_trace: Vec<Value>,
    /// Who answered last.
    pub route: RouteInfo,
    /// The session.
    pub session_id: SessionId,
}

impl TurnResult {
    /// Whether the conversation does not fit any more.
    pub fn compression_exhausted(&self) -> bool {
        self.exit_reason == ExitReason::CompressionExhausted
    }
}
