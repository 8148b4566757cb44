//! Responses: turns that clients chain by id or by the name of a conversation.

mod endpoint;
mod events;
mod items;
mod record;
mod request;

pub(crate) use endpoint::{create, delete, show};
pub(crate) use request::{ResponseRequest, told};
