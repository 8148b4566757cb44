//! What a request asks for, as far as its admission depends on it.

use axum::http::request::Parts;
use hyper::header::{self, HeaderMap};
use hyper::{Method, StatusCode};

use crate::http::ApiError;

/// What anybody may read.
const PUBLIC: [&str; 6] = [
    "/api/status",
    "/api/config/defaults",
    "/api/config/schema",
    "/api/model/info",
    "/api/dashboard/themes",
    "/api/dashboard/plugins",
];

/// A refused upgrade carries the code that a WebSocket would have been closed with.
pub(super) fn coded(error: ApiError, is_upgrade: bool) -> ApiError {
    let code = match error.status() {
        StatusCode::UNAUTHORIZED => 4401,
        StatusCode::FORBIDDEN => 4403,
        _ => 4400,
    };
    if is_upgrade {
        error.field("code", code)
    } else {
        error
    }
}

/// Whether anybody may have this: part of a path counts as a whole.
pub(super) fn is_public(request: &Parts) -> bool {
    let is_read = matches!(request.method, Method::GET | Method::HEAD | Method::OPTIONS);
    let path = request.uri.path();
    is_read && PUBLIC.contains(&path)
}

pub(super) fn is_api(path: &str) -> bool {
    path == "/api" || path.starts_with("/api/")
}

pub(super) fn wants_page(headers: &HeaderMap) -> bool {
    let accept = headers
        .get(header::ACCEPT)
        .and_then(|value| value.to_str().ok());
    accept.is_none_or(|accept| accept.contains("text/html") || accept.contains("*/*"))
}
