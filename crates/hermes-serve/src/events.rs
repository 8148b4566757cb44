//! Answers that go on: server-sent events.

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use hyper::header::{self, HeaderName, HeaderValue};

/// A comment that tells that the connection lives.
pub const KEEPALIVE: Bytes = Bytes::from_static(b": keepalive\n\n");

/// An answer of events; `caching` is what caches are told.
pub fn event_response(body: Body, caching: &'static str) -> Response {
    let mut response = Response::new(body);
    let headers = response.headers_mut();
    let set = [
        (header::CONTENT_TYPE, "text/event-stream"),
        (header::CACHE_CONTROL, caching),
        (HeaderName::from_static("x-accel-buffering"), "no"),
    ];
    for (name, value) in set {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}
