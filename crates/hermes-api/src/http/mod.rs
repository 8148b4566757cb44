//! Requests and answers as such: bodies, errors, events, keys.

mod auth;
mod body;
mod error;
mod events;
mod headers;

pub(crate) use auth::{AuthFailures, has_key};
pub(crate) use body::{read_object, read_optional_object};
pub(crate) use error::{ApiError, Refusal, insert, json_response};
pub(crate) use events::{EventWriter, event, event_response, event_stream};
pub(crate) use headers::{IDEMPOTENCY, SESSION_ID, SESSION_KEY};
