//! Messages of a conversation, independent of wire formats.
//!
//! Data that a provider wants back unchanged in the next request is kept unread in [`Reasoning`] and
//! [`ToolCall::extra_content`].

use hermes_text::named_enum;
use serde_json::Value;

named_enum! {
    /// The author of a message, with its name in sessions and in the chat format.
    pub enum Role {
        /// Instructions. The system prompt itself is [`crate::ModelRequest::system`].
        System = "system",
        /// The user, or the program that runs the turn.
        User = "user",
        Assistant = "assistant",
        Tool = "tool",
    }
}

/// The content of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    Text(String),
    /// Text and images in order.
    Parts(Vec<ContentPart>),
}

impl Content {
    /// The text parts, joined by line breaks.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts: Vec<&str> = parts
                    .iter()
                    .filter_map(|part| match part {
                        ContentPart::Text(text) => Some(text.as_str()),
                        ContentPart::Image(_) => None,
                    })
                    .collect();
                texts.join("\n")
            }
        }
    }

    /// Whether the content has neither images nor visible text.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| match part {
                ContentPart::Text(text) => text.trim().is_empty(),
                ContentPart::Image(_) => false,
            }),
        }
    }

    /// Number of images.
    pub fn images(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Parts(parts) => parts
                .iter()
                .filter(|part| matches!(part, ContentPart::Image(_)))
                .count(),
        }
    }
}

impl Default for Content {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl<T: Into<String>> From<T> for Content {
    fn from(text: T) -> Self {
        Self::Text(text.into())
    }
}

/// A part of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum ContentPart {
    Text(String),
    Image(Image),
}

/// An image, by value or by address.
#[derive(Clone, PartialEq, Eq)]
pub enum Image {
    Data {
        /// Such as `image/png`.
        media_type: String,
        base64: String,
    },
    /// An address from which the provider fetches the image.
    Url(String),
}

impl Image {
    /// Parses a `data:` address; any other address is kept.
    pub fn from_url(url: &str) -> Self {
        let data = url
            .strip_prefix("data:")
            .and_then(|rest| rest.split_once(";base64,"));
        match data {
            Some((media_type, base64)) => Self::Data {
                media_type: media_type.to_owned(),
                base64: base64.to_owned(),
            },
            None => Self::Url(url.to_owned()),
        }
    }

    /// The address, `data:` for bytes.
    pub fn to_url(&self) -> String {
        match self {
            Self::Data { media_type, base64 } => format!("data:{media_type};base64,{base64}"),
            Self::Url(url) => url.clone(),
        }
    }
}

impl std::fmt::Debug for Image {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Data { media_type, base64 } => {
                write!(f, "Image({media_type}, {} base64 bytes)", base64.len())
            }
            Self::Url(_) => f.write_str("Image(url)"),
        }
    }
}

/// A tool call requested by the model.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Id of the call; its result has the same id.
    pub id: String,
    /// Name of the tool as the model wrote it.
    pub name: String,
    /// JSON text. In a response it parses, or the response's finish is [`crate::FinishReason::Length`].
    pub arguments: String,
    /// Data the provider attached and wants back (`extra_content`).
    pub extra_content: Option<Value>,
    /// Id of the item in the responses format, when it differs from `id`.
    pub item_id: Option<String>,
}

impl ToolCall {
    /// A call without attached data.
    pub fn new(
        id: impl Into<String>,
        name: impl Into<String>,
        arguments: impl Into<String>,
    ) -> Self {
        Self {
            id: id.into(),
            name: name.into(),
            arguments: arguments.into(),
            extra_content: None,
            item_id: None,
        }
    }
}

/// Reasoning of the model, and what its provider wants back.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reasoning {
    /// Readable text, for display and for `messages.reasoning`.
    pub text: Option<String>,
    /// `reasoning_content` of the chat format, sent back unchanged.
    pub content: Option<String>,
    /// `reasoning_details` of the chat format, or signed thinking blocks of Anthropic's.
    pub details: Vec<Value>,
    /// Encrypted reasoning items of the responses format (`codex_reasoning_items`).
    pub response_items: Vec<Value>,
    /// Message items of the responses format (`codex_message_items`).
    pub message_items: Vec<Value>,
}

impl Reasoning {
    /// Whether there is nothing to show or send back.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A message of a conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    pub role: Role,
    pub content: Content,
    pub tool_calls: Vec<ToolCall>,
    /// In a tool result: the id of its call.
    pub tool_call_id: Option<String>,
    /// In a tool result: the name of the tool.
    pub name: Option<String>,
    pub reasoning: Reasoning,
}

impl Message {
    /// A message without calls and reasoning.
    pub fn new(role: Role, content: impl Into<Content>) -> Self {
        Self {
            role,
            content: content.into(),
            tool_calls: Vec::new(),
            tool_call_id: None,
            name: None,
            reasoning: Reasoning::default(),
        }
    }

    /// A message of the user.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// An answer of the model.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// The result of a tool call.
    pub fn tool_result(call: &ToolCall, content: impl Into<Content>) -> Self {
        Self {
            tool_call_id: Some(call.id.clone()),
            name: Some(call.name.clone()),
            ..Self::new(Role::Tool, content)
        }
    }
}
