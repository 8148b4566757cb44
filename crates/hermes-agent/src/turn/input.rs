//! What a turn begins with.

use hermes_providers::{Content, Image, Message, Part};

/// What the person says.
#[derive(Debug, Clone, Default)]
pub struct TurnInput {
    /// The text.
    pub text: String,
    /// Pictures beside it.
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

    /// As a message.
    pub(crate) fn into_message(self) -> Message {
        if self.images.is_empty() {
            return Message::user(self.text);
        }
        let text = (!self.text.trim().is_empty()).then_some(Part::Text(self.text));
        let images = self.images.into_iter().map(Part::Image);
        Message::user(Content::Parts(text.into_iter().chain(images).collect()))
    }
}
