//! The answer of a model, in pieces and as a whole.

use crate::message::{Message, Reasoning, Role, ToolCall};

/// Why the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FinishReason {
    Stop,
    ToolCalls,
    /// The length limit was reached, or arguments of a call are incomplete beyond repair. Calls of
    /// such a response must not be made.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// The connection broke repeatedly. The response has the text that arrived; incomplete calls are
    /// named in [`ModelResponse::lost_calls`] and must not be made.
    Truncated,
}

impl FinishReason {
    /// The name in sessions.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length | Self::Truncated => "length",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// Token counts. The input is `input + cache_read + cache_write`, without overlap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TokenUsage {
    /// Input tokens that were not cached.
    pub input: u64,
    /// Output tokens, including reasoning.
    pub output: u64,
    /// Input tokens read from the provider's cache.
    pub cache_read: u64,
    /// Input tokens written to the provider's cache.
    pub cache_write: u64,
    /// Reasoning tokens, a part of `output`.
    pub reasoning: u64,
}

impl TokenUsage {
    /// All input tokens.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// All tokens.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Adds the tokens of another response.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// The cost of an answer. There is no price table: prices change, and a wrong one is worse than none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Cost {
    /// Not stated.
    #[default]
    Unknown,
    /// Free: the server is local.
    Included,
    /// Dollars, as stated by the provider.
    Stated(f64),
}

impl Cost {
    /// Dollars, if known.
    pub fn usd(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Included => Some(0.0),
            Self::Stated(dollars) => Some(dollars),
        }
    }

    /// How certain the cost is, as recorded.
    pub fn status(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Included => "included",
            Self::Stated(_) => "actual",
        }
    }

    /// Where the cost comes from, as recorded.
    pub fn source(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Included => Some("none"),
            Self::Stated(_) => Some("provider_cost_api"),
        }
    }

    /// The sum of two costs; unknown if one of them is.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Included, cost) | (cost, Self::Included) => cost,
            (Self::Stated(one), Self::Stated(two)) => Self::Stated(one + two),
        }
    }
}

/// The answer of a model.
#[derive(Debug, Clone, PartialEq)]
pub struct ModelResponse {
    pub text: String,
    pub reasoning: Reasoning,
    /// Tool calls in order. Arguments parse as JSON unless the finish is
    /// [`FinishReason::Length`].
    pub tool_calls: Vec<ToolCall>,
    pub finish: FinishReason,
    /// Names of tools whose calls were lost with the connection.
    pub lost_calls: Vec<String>,
    /// Tokens; `None` if the provider did not state them.
    pub usage: Option<TokenUsage>,
    pub cost: Cost,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
}

impl ModelResponse {
    /// An empty answer.
    pub fn new(finish: FinishReason) -> Self {
        Self {
            text: String::new(),
            reasoning: Reasoning::default(),
            tool_calls: Vec::new(),
            finish,
            lost_calls: Vec::new(),
            usage: None,
            cost: Cost::Unknown,
            model: None,
        }
    }

    /// The message for the history.
    pub fn to_message(&self) -> Message {
        Message {
            tool_calls: self.tool_calls.clone(),
            reasoning: self.reasoning.clone(),
            ..Message::new(Role::Assistant, self.text.clone())
        }
    }
}

/// An event while an answer arrives. Callers that show nothing may ignore events: [`ModelResponse`]
/// has the whole answer.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    Text(String),
    Reasoning(String),
    /// A tool call begins; its arguments follow.
    ToolCall {
        name: String,
    },
    /// The text so far is void: the request is sent again.
    Restart,
    /// A delay before the request is sent again.
    Waiting {
        seconds: f64,
        reason: String,
    },
    /// A switch to another key or route, one line.
    Switched(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sum_with_an_unknown_cost_is_unknown() {
        let sum = |costs: &[Cost]| costs.iter().copied().reduce(Cost::and).unwrap();
        let (own, paid) = (Cost::Included, Cost::Stated(0.25));
        assert_eq!(sum(&[own, paid, paid, own]), Cost::Stated(0.5));
        assert_eq!(sum(&[own, own]).usd(), Some(0.0));
        assert_eq!(sum(&[paid, Cost::Unknown, paid]).usd(), None);
    }
}
