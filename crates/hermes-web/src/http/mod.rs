//! Requests and answers as such: bodies, errors, events, WebSockets.

mod body;
mod error;
mod events;
mod socket;

pub(crate) use body::read_json;
pub(crate) use error::{ApiError, Refusal, json_response, json_text_response};
pub(crate) use events::{event, event_response};
pub(crate) use socket::{Handshake, Received, Socket};
