//! The input of a turn.

use hermes_providers::{Content, ContentPart, Image, Message};

/// When whoever sent a message learns that it was taken.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Acknowledged {
    /// Once it is stored: it waits for the disk before anything else happens.
    #[default]
    Stored,
    /// With the end of the turn. It survives the end of the process at once, and a loss of power from
    /// the first thing on that comes of it: a call of a tool, or the answer.
    AtTheEnd,
}

/// The user's message.
#[derive(Debug, Clone, Default)]
pub struct TurnInput {
    pub text: String,
    pub images: Vec<Image>,
    pub acknowledged: Acknowledged,
}

impl TurnInput {
    /// Text alone.
    pub fn text(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            ..Self::default()
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
