//! Requests and answers as such: bodies, errors, events, who may ask.

mod auth;
mod body;
mod error;
mod events;
mod guard;

pub(crate) use auth::AuthFailures;
pub(crate) use body::{read_object, read_optional_object};
pub(crate) use error::{ApiError, insert, json_response};
pub(crate) use events::{EventWriter, event, event_response, event_stream};
pub(crate) use guard::{Peer, guarded};
