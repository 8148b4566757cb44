//! The vocabulary of a conversation, the same for every wire format.
//!
//! Nothing here knows how a provider spells it. What a provider wants back word for word in the next
//! request is kept in [`Reasoning`] and [`ToolCall::extra_content`], unread.

use serde_json::Value;

/// Who speaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// Instructions. The system prompt itself is [`crate::Request::system`].
    System,
    /// The person, or the program in whose name the turn runs.
    User,
    /// The model.
    Assistant,
    /// The result of a tool call.
    Tool,
}

impl Role {
    /// As it is written in sessions and in the chat format.
    pub fn name(self) -> &'static str {
        match self {
            Self::System => "system",
            Self::User => "user",
            Self::Assistant => "assistant",
            Self::Tool => "tool",
        }
    }

    /// The role of that name; `developer` is `system`.
    pub fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "system" | "developer" => Self::System,
            "user" => Self::User,
            "assistant" => Self::Assistant,
            "tool" => Self::Tool,
            _ => return None,
        })
    }
}

/// What a message says.
#[derive(Debug, Clone, PartialEq)]
pub enum Content {
    /// Plain text; empty for an assistant message that only calls tools.
    Text(String),
    /// Text and images in order.
    Parts(Vec<Part>),
}

impl Content {
    /// All text of it, parts joined by a line break.
    pub fn to_text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Parts(parts) => {
                let texts: Vec<&str> = parts
                    .iter()
                    .filter_map(|part| match part {
                        Part::Text(text) => Some(text.as_str()),
                        Part::Image(_) => None,
                    })
                    .collect();
                texts.join("\n")
            }
        }
    }

    /// Whether there is neither an image nor any text but white space.
    pub fn is_blank(&self) -> bool {
        match self {
            Self::Text(text) => text.trim().is_empty(),
            Self::Parts(parts) => parts.iter().all(|part| match part {
                Part::Text(text) => text.trim().is_empty(),
                Part::Image(_) => false,
            }),
        }
    }

    /// How many images it holds.
    pub fn images(&self) -> usize {
        match self {
            Self::Text(_) => 0,
            Self::Parts(parts) => parts
                .iter()
                .filter(|part| matches!(part, Part::Image(_)))
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

/// A piece of a message.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// Text.
    Text(String),
    /// A picture.
    Image(Image),
}

/// A picture, by value or by address.
#[derive(Clone, PartialEq, Eq)]
pub enum Image {
    /// The bytes.
    Data {
        /// Such as `image/png`.
        media_type: String,
        /// The bytes in base64.
        base64: String,
    },
    /// An address the provider fetches it from.
    Url(String),
}

impl Image {
    /// A `data:` address taken apart, or the address itself.
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

    /// As an address, `data:` for bytes.
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

/// A call the model wants made.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// Names the call; its result carries the same.
    pub id: String,
    /// Name of the tool as the model wrote it.
    pub name: String,
    /// JSON text. In a response it parses, or the response's finish is [`crate::Finish::Length`].
    pub arguments: String,
    /// What the provider attached and wants back (`extra_content`).
    pub extra_content: Option<Value>,
    /// Id of the item in the responses format, when it differs from `id`.
    pub item_id: Option<String>,
}

impl ToolCall {
    /// A call with nothing attached.
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

/// What the model thought, and what its provider wants to see of it again.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Reasoning {
    /// Readable text, for display and for `messages.reasoning`.
    pub text: Option<String>,
    /// `reasoning_content` of the chat format, sent back as it came.
    pub content: Option<String>,
    /// `reasoning_details` of the chat format, or signed thinking blocks of Anthropic's.
    pub details: Vec<Value>,
    /// Encrypted reasoning items of the responses format (`codex_reasoning_items`).
    pub response_items: Vec<Value>,
    /// Message items of the responses format (`codex_message_items`).
    pub message_items: Vec<Value>,
}

impl Reasoning {
    /// Whether there is nothing to show and nothing to send back.
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// One message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// Who speaks.
    pub role: Role,
    /// What is said.
    pub content: Content,
    /// Calls of an assistant message.
    pub tool_calls: Vec<ToolCall>,
    /// In a tool message: the call it answers.
    pub tool_call_id: Option<String>,
    /// In a tool message: the tool that answered.
    pub name: Option<String>,
    /// In an assistant message: what it thought.
    pub reasoning: Reasoning,
}

impl Message {
    /// A message of plain content.
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

    /// What the person says.
    pub fn user(content: impl Into<Content>) -> Self {
        Self::new(Role::User, content)
    }

    /// What the model says.
    pub fn assistant(content: impl Into<Content>) -> Self {
        Self::new(Role::Assistant, content)
    }

    /// The result of a call.
    pub fn tool_result(call: &ToolCall, content: impl Into<Content>) -> Self {
        Self {
            tool_call_id: Some(call.id.clone()),
            name: Some(call.name.clone()),
            ..Self::new(Role::Tool, content)
        }
    }
}
