//! Server-sent events.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::Stream;
use serde_json::Value;

/// One event.
pub(crate) fn event(name: &str, id: i64, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\nid: {id}\ndata: {data}\n\n"))
}

/// An answer that goes on.
pub(crate) fn event_response(
    stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    hermes_serve::event_response(Body::from_stream(stream), "no-store")
}
