//! Server-sent events.

use std::convert::Infallible;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::Stream;
use hyper::header::{self, HeaderValue};
use serde_json::Value;

/// One event.
pub(crate) fn event(name: &str, id: i64, data: &Value) -> Bytes {
    Bytes::from(format!("event: {name}\nid: {id}\ndata: {data}\n\n"))
}

/// A sign of life.
pub(crate) const KEEPALIVE: Bytes = Bytes::from_static(b": keepalive\n\n");

/// An answer that goes on.
pub(crate) fn event_response(
    stream: impl Stream<Item = Result<Bytes, Infallible>> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(stream));
    let headers = response.headers_mut();
    let set = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, "no-store"),
        (header::HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in set {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
