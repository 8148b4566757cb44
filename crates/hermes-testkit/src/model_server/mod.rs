//! A model server on loopback that answers as scripted and remembers what it was asked.
//!
//! It speaks chat completions, Anthropic messages and OpenAI responses, told apart by the path of a
//! request, and can be as rude as real ones: errors, HTML, streams that break, silence. Plain threads;
//! it knows nothing of the product.

mod answer;
mod chat_format;
mod connection;
mod messages_format;
mod responses_format;
mod server;
mod state;

pub use answer::{ScriptedAnswer, ScriptedCall};
pub use server::ModelServer;
pub use state::ReceivedRequest;

/// A wire format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// `…/chat/completions`
    Chat,
    /// `…/messages`
    Anthropic,
    /// `…/responses`
    Responses,
}

impl Wire {
    /// The format of a path; `None` for paths that are no question to a model.
    pub fn of_path(path: &str) -> Option<Self> {
        let path = path.split('?').next().unwrap_or(path);
        if path.ends_with("/chat/completions") {
            Some(Self::Chat)
        } else if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else if path.ends_with("/responses") {
            Some(Self::Responses)
        } else {
            None
        }
    }
}
