//! Chat completions.

mod endpoint;
mod events;
mod request;

pub(crate) use endpoint::chat_completions;
