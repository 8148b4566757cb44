//! The input of a turn.

use hermes_providers::{Content, ContentPart, Image, Message};

/// The user's message.
#[derive(Debug, Clone, Default)]
pub struct TurnInput {
    pub text: String,
    pub images: Vec<Image>,
}

impl TurnInput {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            images: Vec::new(),
        }
    }

    pub(crate) fn into_message(self) -> Message {
        if self.images.is_empty() {
            return Message::user(self.text);
        }
        let text = (!self.text.trim().is_empty()).then_some(ContentPart::Text(self.text));
        let images = self.images.into_iter().map(ContentPart::Image);
        Message::user(Content::Parts(text.into_iter().chain(images).collect()))
    }
}
