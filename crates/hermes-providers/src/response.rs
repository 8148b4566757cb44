//! What a model answers, piece by piece and as a whole.

use crate::message::{Message, Reasoning, Role, ToolCall};

/// Why the answer ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Finish {
    /// The model was done.
    Stop,
    /// It wants tools called.
    ToolCalls,
    /// It ran into a limit of length, or the arguments of a call arrived in pieces that no repair
    /// makes whole. Calls of such a response must not be made.
    Length,
    /// The provider withheld the rest.
    ContentFilter,
    /// The connection broke and went on breaking. The text that came is in the response; calls that
    /// were open are named in [`Response::lost_calls`] and must not be made.
    Cut,
}

impl Finish {
    /// As sessions store it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Stop => "stop",
            Self::ToolCalls => "tool_calls",
            Self::Length | Self::Cut => "length",
            Self::ContentFilter => "content_filter",
        }
    }
}

/// Tokens, in buckets that do not overlap: what was read is `input + cache_read + cache_write`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Usage {
    /// Read and not cached.
    pub input: u64,
    /// Written, thoughts included.
    pub output: u64,
    /// Read from the provider's cache.
    pub cache_read: u64,
    /// Read and put into the provider's cache.
    pub cache_write: u64,
    /// Thoughts, a part of `output`.
    pub reasoning: u64,
}

impl Usage {
    /// Everything that was read.
    pub fn prompt(&self) -> u64 {
        self.input
            .saturating_add(self.cache_read)
            .saturating_add(self.cache_write)
    }

    /// Everything read and written.
    pub fn total(&self) -> u64 {
        self.prompt().saturating_add(self.output)
    }

    /// Adds another response's tokens.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.reasoning = self.reasoning.saturating_add(other.reasoning);
    }
}

/// What an answer cost. There is no table of prices: they change, and a wrong one is worse than none.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Cost {
    /// Nobody said.
    #[default]
    Unknown,
    /// Nothing: the server is this machine's or a neighbour's.
    Included,
    /// So many dollars, as the provider says.
    Stated(f64),
}

impl Cost {
    /// In dollars, where that is known.
    pub fn usd(self) -> Option<f64> {
        match self {
            Self::Unknown => None,
            Self::Included => Some(0.0),
            Self::Stated(dollars) => Some(dollars),
        }
    }

    /// How sure it is, as records write it.
    pub fn status(self) -> &'static str {
        match self {
            Self::Unknown => "unknown",
            Self::Included => "included",
            Self::Stated(_) => "actual",
        }
    }

    /// Where it comes from, as records write it.
    pub fn source(self) -> Option<&'static str> {
        match self {
            Self::Unknown => None,
            Self::Included => Some("none"),
            Self::Stated(_) => Some("provider_cost_api"),
        }
    }

    /// What two answers cost together: with an unknown part the sum is unknown.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Unknown, _) | (_, Self::Unknown) => Self::Unknown,
            (Self::Included, cost) | (cost, Self::Included) => cost,
            (Self::Stated(one), Self::Stated(two)) => Self::Stated(one + two),
        }
    }
}

/// An answer.
#[derive(Debug, Clone, PartialEq)]
pub struct Response {
    /// Text.
    pub text: String,
    /// Thoughts.
    pub reasoning: Reasoning,
    /// Calls, in the order they were asked for. Arguments parse as JSON unless the finish is
    /// [`Finish::Length`].
    pub tool_calls: Vec<ToolCall>,
    /// Why it ended.
    pub finish: Finish,
    /// Names of the tools whose calls were lost with the connection.
    pub lost_calls: Vec<String>,
    /// Tokens; `None` when the provider did not say, or not in numbers.
    pub usage: Option<Usage>,
    /// What it cost.
    pub cost: Cost,
    /// The model that answered, as the provider names it.
    pub model: Option<String>,
}

impl Response {
    /// An empty answer.
    pub fn new(finish: Finish) -> Self {
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

    /// The message that goes into the history.
    pub fn to_message(&self) -> Message {
        Message {
            tool_calls: self.tool_calls.clone(),
            reasoning: self.reasoning.clone(),
            ..Message::new(Role::Assistant, self.text.clone())
        }
    }
}

/// What happens while an answer arrives. The whole answer comes as [`Response`] as well: a caller
/// that shows nothing may ignore these.
#[derive(Debug, Clone, PartialEq)]
pub enum StreamEvent {
    /// More text of the answer.
    Text(String),
    /// More of the thoughts.
    Reasoning(String),
    /// A call begins; its arguments are still on their way.
    ToolCall {
        /// Name of the tool.
        name: String,
    },
    /// What was streamed so far is void: the request is made again from the start.
    Restart,
    /// The request waits before it is made again.
    Waiting {
        /// How long.
        seconds: f64,
        /// Why, one line.
        reason: String,
    },
    /// Another key or another route answers from here on, one line.
    Switched(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_with_an_unknown_part_is_unknown() {
        let sum = |costs: &[Cost]| costs.iter().copied().reduce(Cost::and).unwrap();
        let (own, paid) = (Cost::Included, Cost::Stated(0.25));
        assert_eq!(sum(&[own, paid, paid, own]), Cost::Stated(0.5));
        assert_eq!(sum(&[own, own]).usd(), Some(0.0));
        assert_eq!(sum(&[paid, Cost::Unknown, paid]).usd(), None);
    }
}
