//! One message of a conversation, as plain data.
//!
//! Holds what the reference's table holds and nothing of a provider's wire format: calls and
//! reasoning items stay the JSON they came as, so that they can be sent back byte for byte.

use serde_json::Value;

use crate::{MessageId, SessionId};

/// What precedes JSON in a column of texts. A NUL cannot be part of ordinary text.
const JSON_MARK: &str = "\0json:";

/// What a message begins with that stands for summarised ones.
pub const SUMMARY_MARK: &str = "[CONTEXT COMPACTION — REFERENCE ONLY]";
/// What older files have instead.
const OLD_SUMMARY_MARK: &str = "[CONTEXT SUMMARY]:";

/// Who speaks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool, answering one call.
    Tool,
    /// The instructions.
    System,
    /// A role that another program wrote, such as `session_meta`.
    Other(String),
}

impl Role {
    /// The word of the database.
    pub fn as_str(&self) -> &str {
        match self {
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
            Self::System => "system",
            Self::Other(word) => word,
        }
    }

    pub(crate) fn of_word(word: String) -> Self {
        match word.as_str() {
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            "system" => Self::System,
            _ => Self::Other(word),
        }
    }
}

/// What is said.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text.
    Text(String),
    /// A list of parts (text, images), as the chat wire format has them.
    Parts(Value),
}

impl Content {
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
            // Text that looks like the mark must not be taken for it.
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
            // Damaged JSON is shown as it is rather than lost.
            Some(Err(_)) | None => Self::Text(stored),
        }
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said; none for calls without words.
    pub content: Option<Content>,
    /// In a tool's message: the call it answers.
    pub tool_call_id: Option<String>,
    /// Calls, as an array in the chat wire format.
    pub tool_calls: Option<Value>,
    /// In a tool's message: its name.
    pub tool_name: Option<String>,
    /// Size, if the provider said it.
    pub token_count: Option<i64>,
    /// Why the model stopped.
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
    /// Number of the message on the platform it came from.
    pub platform_message_id: Option<String>,
    /// Whether the agent only overheard it.
    pub observed: bool,
    /// What was sent instead of `content`, if that differed.
    pub api_content: Option<String>,
    /// What became of the effects of a call.
    pub effect_disposition: Option<String>,
    /// Seconds since 1970; now if none.
    pub timestamp: Option<f64>,
}

impl Message {
    /// An empty message.
    pub fn new(role: Role) -> Self {
        Self {
            role,
            content: None,
            tool_call_id: None,
            tool_calls: None,
            tool_name: None,
            token_count: None,
            finish_reason: None,
            reasoning: None,
            reasoning_content: None,
            reasoning_details: None,
            codex_reasoning_items: None,
            codex_message_items: None,
            platform_message_id: None,
            observed: false,
            api_content: None,
            effect_disposition: None,
            timestamp: None,
        }
    }

    /// What a person says.
    pub fn user(content: impl Into<Content>) -> Self {
        Self {
            content: Some(content.into()),
            ..Self::new(Role::User)
        }
    }

    /// What the model says.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self {
            content: Some(content.into()),
            ..Self::new(Role::Assistant)
        }
    }

    /// Calls of the model, with or without words.
    pub fn calls(content: Option<Content>, tool_calls: Value) -> Self {
        Self {
            content,
            tool_calls: Some(tool_calls),
            ..Self::new(Role::Assistant)
        }
    }

    /// What a tool answers.
    pub fn tool_result(
        tool_call_id: impl Into<String>,
        tool_name: impl Into<String>,
        content: impl Into<Content>,
    ) -> Self {
        Self {
            content: Some(content.into()),
            tool_call_id: Some(tool_call_id.into()),
            tool_name: Some(tool_name.into()),
            ..Self::new(Role::Tool)
        }
    }

    /// The text of the content; empty if there is none.
    pub fn text(&self) -> String {
        self.content.as_ref().map(Content::text).unwrap_or_default()
    }

    /// Whether it stands for summarised messages.
    pub fn is_summary(&self) -> bool {
        let text = self.text();
        let text = text.trim_start();
        text.starts_with(SUMMARY_MARK) || text.starts_with(OLD_SUMMARY_MARK)
    }

    /// Ids of the calls, in their order.
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

    /// The name of the tool that a call is for.
    pub fn name_of_call(&self, id: &str) -> Option<&str> {
        let at = self.call_ids().iter().position(|call| *call == id)?;
        let call = self.each_call().nth(at)?;
        call.get("function")
            .unwrap_or(call)
            .get("name")
            .and_then(Value::as_str)
    }

    /// How many calls there are.
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

/// A message as it lies in the database.
#[derive(Debug, Clone, PartialEq)]
pub struct StoredMessage {
    /// Its number.
    pub id: MessageId,
    /// Its session.
    pub session_id: SessionId,
    /// Seconds since 1970.
    pub timestamp: f64,
    /// Whether it is part of the conversation; not if it was taken back or summarised.
    pub active: bool,
    /// Whether a summary stands for it.
    pub compacted: bool,
    /// The message. Its `timestamp` is set, too.
    pub message: Message,
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn content_comes_back_as_it_was() {
        for content in [
            Content::from("plain"),
            Content::from(""),
            Content::from("\0json:[1]"),
            Content::from("\0other"),
            Content::Parts(json!([{"type": "text", "text": "ä"}])),
            Content::Parts(json!({"_multimodal": true})),
        ] {
            assert_eq!(Content::decode(content.encode()), content);
        }
        // Half a JSON, as a careless program may leave it.
        assert_eq!(
            Content::decode("\0json:[{".to_owned()),
            Content::from("\0json:[{")
        );
    }

    #[test]
    fn text_of_parts_is_what_can_be_read() {
        let content = Content::Parts(json!([
            {"type": "text", "text": "a"},
            {"type": "image_url", "image_url": {"url": "data:"}},
            "b"
        ]));
        assert_eq!(content.text(), "a\nb");
    }

    #[test]
    fn calls_are_counted_in_any_shape() {
        let call = |calls| Message::calls(None, calls).call_count();
        assert_eq!(call(json!([{"id": "a"}, {"id": "b"}])), 2);
        assert_eq!(call(json!({"id": "a"})), 1);
        assert_eq!(call(Value::Null), 0);
        assert_eq!(
            Message::calls(None, json!([{"call_id": "x"}, {}])).call_ids(),
            ["x", ""]
        );
    }
}
