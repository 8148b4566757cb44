//! What a model is asked. The model itself is not part of it: a provider is bound to one.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use crate::message::{Content, Message, Part};

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    /// Its name.
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub parameters: Value,
}

/// How much the model thinks before it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effort {
    /// Not at all.
    None,
    /// As little as possible.
    Minimal,
    /// A little.
    Low,
    /// Some.
    Medium,
    /// Much.
    High,
    /// As much as possible.
    XHigh,
}

impl Effort {
    /// All levels, from least to most.
    pub const ALL: [Self; 6] = [
        Self::None,
        Self::Minimal,
        Self::Low,
        Self::Medium,
        Self::High,
        Self::XHigh,
    ];

    /// As written in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Minimal => "minimal",
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
            Self::XHigh => "xhigh",
        }
    }

    /// The level of that name.
    pub fn parse(name: &str) -> Option<Self> {
        let name = name.trim();
        Self::ALL
            .into_iter()
            .find(|effort| effort.name().eq_ignore_ascii_case(name))
    }
}

/// Something a model is asked beside a conversation. Settings are in `auxiliary.<name>`, costs under
/// the name in the records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SideTask {
    /// Summarise what a conversation has no room for.
    Compression,
    /// Give a session a title.
    TitleGeneration,
    /// Make a card of the board clear.
    TriageSpecifier,
    /// Split a card of the board.
    KanbanDecomposer,
    /// Judge whether a card has reached its goal.
    GoalJudge,
    /// Assess whether a flagged command can run unasked.
    Approval,
}

impl SideTask {
    /// All of them.
    pub const ALL: [Self; 6] = [
        Self::Compression,
        Self::TitleGeneration,
        Self::TriageSpecifier,
        Self::KanbanDecomposer,
        Self::GoalJudge,
        Self::Approval,
    ];

    /// As settings, records and scripts write it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Compression => "compression",
            Self::TitleGeneration => "title_generation",
            Self::TriageSpecifier => "triage_specifier",
            Self::KanbanDecomposer => "kanban_decomposer",
            Self::GoalJudge => "goal_judge",
            Self::Approval => "approval",
        }
    }

    /// The task of that name.
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|task| task.name() == name)
    }

    /// How long an answer may take where settings do not say.
    pub(crate) fn usual_limit(self) -> Duration {
        Duration::from_secs(match self {
            Self::TitleGeneration | Self::Approval => 30,
            Self::GoalJudge => 60,
            Self::Compression | Self::TriageSpecifier => 120,
            Self::KanbanDecomposer => 180,
        })
    }
}

/// One question to a model.
///
/// `system` and `tools` are shared, not copied: they stay byte-identical for a whole session so that
/// providers can reuse what they have read.
#[derive(Debug, Clone)]
pub struct Request {
    /// The session, for providers that key their caches by it. No secret.
    pub session_id: Option<String>,
    /// The system prompt; empty for none.
    pub system: Arc<str>,
    /// The conversation.
    pub messages: Vec<Message>,
    /// What may be called; empty for no tools.
    pub tools: Arc<[ToolSchema]>,
    /// Most tokens of the answer, where the caller wants less than the route's own cap.
    pub max_tokens: Option<u32>,
    /// How much to think; `None` leaves it to the route's settings.
    pub effort: Option<Effort>,
    /// Sampling temperature; `None` leaves it to the provider.
    pub temperature: Option<f64>,
    /// What it is about, if not the conversation itself.
    pub task: Option<SideTask>,
}

impl Request {
    /// A question without tools or settings of its own.
    pub fn new(system: impl Into<Arc<str>>, messages: Vec<Message>) -> Self {
        Self {
            session_id: None,
            system: system.into(),
            messages,
            tools: Arc::from([]),
            max_tokens: None,
            effort: None,
            temperature: None,
            task: None,
        }
    }

    /// Tokens this will roughly cost to read: a quarter of its characters, 1,500 for each image.
    pub fn estimated_tokens(&self) -> u64 {
        let mut characters = chars(&self.system);
        let mut images = 0;
        for message in &self.messages {
            let (text, pictures) = content_size(&message.content);
            characters += text + FRAME;
            images += pictures;
            characters += message.reasoning.content.as_deref().map_or(0, chars);
            for call in &message.tool_calls {
                characters += chars(&call.name) + chars(&call.arguments) + chars(&call.id) + FRAME;
            }
        }
        for tool in self.tools.iter() {
            characters += chars(&tool.name) + chars(&tool.description) + FRAME;
            characters += value_size(&tool.parameters);
        }
        characters.div_ceil(4) + images * TOKENS_PER_IMAGE
    }
}

/// Keys and quotes around a message, a call or a tool.
const FRAME: u64 = 40;

/// An image's share of the context, whatever its size.
const TOKENS_PER_IMAGE: u64 = 1_500;

fn chars(text: &str) -> u64 {
    u64::try_from(text.chars().count()).unwrap_or(u64::MAX)
}

fn content_size(content: &Content) -> (u64, u64) {
    match content {
        Content::Text(text) => (chars(text), 0),
        Content::Parts(parts) => parts
            .iter()
            .fold((0, 0), |(text, images), part| match part {
                Part::Text(more) => (text + chars(more), images),
                Part::Image(_) => (text, images + 1),
            }),
    }
}

/// Characters of a value as JSON, near enough and without writing it.
fn value_size(value: &Value) -> u64 {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(_) => 3,
        Value::String(text) => chars(text) + 2,
        Value::Array(items) => items.iter().map(|item| value_size(item) + 1).sum::<u64>() + 2,
        Value::Object(map) => {
            let entries = map
                .iter()
                .map(|(key, value)| chars(key) + 4 + value_size(value));
            entries.sum::<u64>() + 2
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Image;

    #[test]
    fn a_quarter_of_the_characters_and_a_flat_price_for_images() {
        let mut request = Request::new("s".repeat(400), vec![Message::user("é".repeat(360))]);
        assert_eq!(request.estimated_tokens(), 200);
        request.messages[0].content = Content::Parts(vec![
            Part::Text("é".repeat(360)),
            Part::Image(Image::Url("https://example.org/".repeat(100))),
        ]);
        assert_eq!(request.estimated_tokens(), 1_700);
    }
}
