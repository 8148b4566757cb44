//! One message of a conversation, as plain data.
//!
//! Holds what the reference's table holds and nothing of a provider's wire format: calls and
//! reasoning items stay the JSON they came as, so that they can be sent back byte for byte.

use serde_json::Value;

use crate::{MessageId, SessionId};

/// Prefix of JSON in a text column. A NUL cannot be part of ordinary text.
const JSON_MARK: &str = "\0json:";

/// First line of a message that is the summary of earlier ones.
pub const SUMMARY_MARK: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";
/// The same mark in older files.
const OLD_SUMMARY_MARK: &str = "[CONTEXT SUMMARY]:";

/// The author of a message.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum MessageRole {
    #[default]
    User,
    Assistant,
    Tool,
    System,
    /// A role that another program wrote, such as `session_meta`.
    Other(String),
}

impl MessageRole {
    /// The value of the `role` column.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
            Self::Other(word) => word,
        }
    }

    pub(crate) fn from_word(word: String) -> Self {
        match word.as_str() {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            "system" => Self::System,
            _ => Self::Other(word),
        }
    }
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum MessageContent {
    Text(String),
    /// A list of parts (text, images), as the chat wire format has them.
    Parts(Value),
}

impl MessageContent {
    /// The text of the content: itself, or its text parts joined by line breaks.
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(Value::Array(parts)) => {
                let texts: Vec<&str> = parts
                    .iter()
                    .filter_map(|part| match part {
                        Value::String(text) => Some(text.as_str()),
                        part => part.get("text").and_then(Value::as_str),
                    })
                    .collect();
                texts.join("\n")
            }
            Self::Parts(other) => other.to_string(),
        }
    }

    pub(crate) fn encode(&self) -> String {
        match self {
            // Text that begins with the mark must not be read as JSON.
            Self::Text(text) if text.starts_with(JSON_MARK) => {
                format!("{JSON_MARK}{}", Value::String(text.clone()))
            }
            Self::Text(text) => text.clone(),
            Self::Parts(value) => format!("{JSON_MARK}{value}"),
        }
    }

    pub(crate) fn decode(stored: String) -> Self {
        match stored.strip_prefix(JSON_MARK).map(serde_json::from_str) {
            Some(Ok(Value::String(text))) => Self::Text(text),
            Some(Ok(value)) => Self::Parts(value),
            // Damaged JSON is kept as text rather than lost.
            Some(Err(_)) | None => Self::Text(stored),
        }
    }
}

impl From<&str> for MessageContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for MessageContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct SessionMessage {
    pub role: MessageRole,
    /// Text or parts; none for tool calls without text.
    pub content: Option<MessageContent>,
    /// In a tool result: the id of its call.
    pub tool_call_id: Option<String>,
    /// Tool calls, as an array in the chat wire format.
    pub tool_calls: Option<Value>,
    pub tool_name: Option<String>,
    /// Tokens, if the provider reported them.
    pub token_count: Option<i64>,
    pub finish_reason: Option<String>,
    /// Reasoning as shown to people.
    pub reasoning: Option<String>,
    /// Reasoning as the provider wants it back.
    pub reasoning_content: Option<String>,
    /// Reasoning parts with signatures.
    pub reasoning_details: Option<Value>,
    /// Reasoning items of the responses wire format.
    pub codex_reasoning_items: Option<Value>,
    /// Message items of the responses wire format.
    pub codex_message_items: Option<Value>,
    /// Id of the message on the chat platform it came from.
    pub platform_message_id: Option<String>,
    /// Whether the message was only observed in a chat, not addressed to the agent.
    pub observed: bool,
    /// Content sent to the provider, if it differs from `content`.
    pub api_content: Option<String>,
    /// What became of the effects of a call.
    pub effect_disposition: Option<String>,
    /// Seconds since 1970; the current time if none.
    pub timestamp: Option<f64>,
}

impl SessionMessage {
    /// An empty message.
    pub fn new(role: MessageRole) -> Self {
        Self {
            role,
            ..Self::default()
        }
    }

    /// A message of the user.
    pub fn user(content: impl Into<MessageContent>) -> Self {
        Self {
            content: Some(content.into()),
            ..Self::default()
        }
    }

    /// The result of a tool call.
    pub fn tool_result(
        tool_call_id: impl Into<String>,
        tool_name: impl Into<String>,
        content: impl Into<MessageContent>,
    ) -> Self {
        Self {
            content: Some(content.into()),
            tool_call_id: Some(tool_call_id.into()),
            tool_name: Some(tool_name.into()),
            ..Self::new(MessageRole::Tool)
        }
    }

    /// The text of the content; empty if there is none.
    pub fn text(&self) -> String {
        self.content
            .as_ref()
            .map(MessageContent::text)
            .unwrap_or_default()
    }

    /// Whether the message is a summary of earlier ones.
    pub fn is_summary(&self) -> bool {
        let text = self.text();
        let text = text.trim_start();
        text.starts_with(SUMMARY_MARK) || text.starts_with(OLD_SUMMARY_MARK)
    }

    /// Ids of the tool calls, in order.
    pub fn call_ids(&self) -> Vec<&str> {
        self.each_call()
            .map(|call| {
                call.get("id")
                    .or_else(|| call.get("call_id"))
                    .and_then(Value::as_str)
                    .unwrap_or_default()
            })
            .collect()
    }

    /// The name of the tool that the call `id` is for.
    pub fn name_of_call(&self, id: &str) -> Option<&str> {
        let at = self.call_ids().iter().position(|call| *call == id)?;
        let call = self.each_call().nth(at)?;
        call.get("function")
            .unwrap_or(call)
            .get("name")
            .and_then(Value::as_str)
    }

    /// Number of tool calls.
    pub fn call_count(&self) -> usize {
        self.each_call().count()
    }

    fn each_call(&self) -> impl Iterator<Item = &Value> {
        match &self.tool_calls {
            Some(Value::Array(calls)) => calls.as_slice(),
            Some(Value::Null) | None => &[],
            Some(single) => std::slice::from_ref(single),
        }
        .iter()
    }
}

/// A message with its database columns.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    pub id: MessageId,
    pub session_id: SessionId,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Whether the message is part of the conversation, that is neither undone nor summarised.
    pub active: bool,
    /// Whether a summary replaces the message.
    pub compacted: bool,
    /// The message. Its `timestamp` is set, too.
    pub message: SessionMessage,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_survives_encoding() {
        for content in [
            MessageContent::from("plain"),
            MessageContent::from(""),
            MessageContent::from("\0json:[1]"),
            MessageContent::from("\0other"),
            MessageContent::Parts(json!([{"type": "text", "text": "ä"}])),
            MessageContent::Parts(json!({"_multimodal": true})),
        ] {
            assert_eq!(MessageContent::decode(content.encode()), content);
        }
        // Truncated JSON, as a crash may leave it.
        assert_eq!(
            MessageContent::decode("\0json:[{".to_owned()),
            MessageContent::from("\0json:[{")
        );
    }

    #[test]
    fn text_of_parts_joins_the_text_parts() {
        let content = MessageContent::Parts(json!([
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:"}},
            "b"
        ]));
        assert_eq!(content.text(), "a\nb");
    }

    #[test]
    fn calls_are_counted_as_array_object_or_null() {
        let message = |calls| SessionMessage {
            tool_calls: Some(calls),
            ..SessionMessage::new(MessageRole::Assistant)
        };
        let call = |calls| message(calls).call_count();
        assert_eq!(call(json!([{"id": "a"}, {"id": "b"}])), 2);
        assert_eq!(call(json!({"id": "a"})), 1);
        assert_eq!(call(Value::Null), 0);
        assert_eq!(message(json!([{"call_id": "x"}, {}])).call_ids(), ["x", ""]);
    }
}
