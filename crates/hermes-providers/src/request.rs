//! A request to a model. The model itself is not part of it: a provider is bound to one.

use std::sync::Arc;
use std::time::Duration;

use hermes_text::named_enum;
use serde_json::Value;

use crate::message::{Content, ContentPart, Message};

/// A tool the model may call.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSchema {
    pub name: String,
    /// What it does, for the model.
    pub description: String,
    /// JSON schema of its arguments, an object.
    pub parameters: Value,
}

named_enum! {
    /// Reasoning effort of the model.
    pub enum Effort {
        None = "none",
        Minimal = "minimal",
        Low = "low",
        Medium = "medium",
        High = "high",
        XHigh = "xhigh",
    }
}

named_enum! {
    /// A task for a model beside the conversation. Settings are in `auxiliary.<name>`, costs are
    /// recorded under the same name.
    pub enum AuxiliaryTask {
        /// Summarise a conversation that is too long.
        Compression = "compression",
        TitleGeneration = "title_generation",
        /// Specify a card of the board.
        TriageSpecifier = "triage_specifier",
        /// Split a card of the board.
        KanbanDecomposer = "kanban_decomposer",
        /// Decide whether a card has reached its goal.
        GoalJudge = "goal_judge",
        /// Assess whether a flagged command can run unasked.
        Approval = "approval",
        /// Describe what a profile is for.
        ProfileDescriber = "profile_describer",
        /// Describe an image to a model that sees none.
        Vision = "vision",
        /// Answer an MCP server that asks the model.
        Mcp = "mcp",
        /// Look back at a conversation and keep what is worth keeping.
        BackgroundReview = "background_review",
    }
}

impl AuxiliaryTask {
    /// The default timeout.
    pub(crate) fn default_timeout(self) -> Duration {
        Duration::from_secs(match self {
            Self::TitleGeneration | Self::Approval | Self::Mcp => 30,
            Self::GoalJudge | Self::ProfileDescriber => 60,
            Self::Compression | Self::TriageSpecifier | Self::Vision | Self::BackgroundReview => {
                120
            }
            Self::KanbanDecomposer => 180,
        })
    }
}

/// One request to a model.
///
/// `system` and `tools` are shared, not copied: they stay byte-identical for a whole session so that
/// providers can cache them.
#[derive(Debug, Clone)]
pub struct ModelRequest {
    /// The session, used as cache key by some providers. Not a secret.
    pub session_id: Option<String>,
    /// The system prompt; empty for none.
    pub system: Arc<str>,
    pub messages: Vec<Message>,
    pub tools: Arc<[ToolSchema]>,
    /// Maximum tokens of the answer, if lower than the limit of the route.
    pub max_tokens: Option<u32>,
    /// Reasoning effort; `None` for the setting of the route.
    pub effort: Option<Effort>,
    /// Sampling temperature; `None` for the default of the provider.
    pub temperature: Option<f64>,
    /// The auxiliary task, if it is not the conversation itself.
    pub task: Option<AuxiliaryTask>,
}

impl ModelRequest {
    /// A request without tools and settings.
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

    /// Estimated input tokens: a quarter of the characters, 1,500 for each image.
    pub fn estimated_tokens(&self) -> u64 {
        let mut characters = chars(&self.system);
        let mut images = 0;
        for message in &self.messages {
            let (text, count) = content_size(&message.content);
            characters += text + FRAME;
            images += count;
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

/// Characters of keys and quotes around a message, a call or a tool.
const FRAME: u64 = 40;

/// Assumed tokens of an image, whatever its size.
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
                ContentPart::Text(more) => (text + chars(more), images),
                ContentPart::Image(_) => (text, images + 1),
            }),
    }
}

/// Approximate characters of a value as JSON.
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
    fn estimate_is_a_quarter_of_the_characters_plus_a_constant_per_image() {
        let mut request = ModelRequest::new("s".repeat(400), vec![Message::user("é".repeat(360))]);
        assert_eq!(request.estimated_tokens(), 200);
        request.messages[0].content = Content::Parts(vec![
            ContentPart::Text("é".repeat(360)),
            ContentPart::Image(Image::Url("https://example.org/".repeat(100))),
        ]);
        assert_eq!(request.estimated_tokens(), 1_700);
    }
}
