//! Conversations as resources.

mod chat;
mod stored;
mod view;

pub(crate) use chat::{chat, chat_stream};
pub(crate) use stored::{create, delete, fork, list, messages, show, update};
