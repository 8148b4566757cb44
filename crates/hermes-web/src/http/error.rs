//! Errors as clients see them: `{"detail": "…"}`, and `{"detail": [{loc, msg, type}]}` for a body or
//! query of the wrong shape.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use hermes_serve::LostWork;
use hyper::StatusCode;
use hyper::header::{self, HeaderName, HeaderValue};
use serde_json::{Value, json};

/// Why a request was refused, beside the answer that says so: for the log.
#[derive(Debug, Clone)]
pub(crate) struct Refusal(pub(crate) String);

/// A refused or failed request.
#[derive(Debug, Clone)]
pub(crate) struct ApiError(Box<Parts>);

#[derive(Debug, Clone)]
struct Parts {
    status: StatusCode,
    message: String,
    body: Value,
    headers: Vec<(HeaderName, String)>,
}

impl ApiError {
    pub(crate) fn new(status: StatusCode, message: impl Into<String>) -> Self {
        let message = message.into();
        Self(Box::new(Parts {
            status,
            body: json!({ "detail": message }),
            message,
            headers: Vec::new(),
        }))
    }

    pub(crate) fn bad_request(message: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new(StatusCode::NOT_FOUND, message)
    }

    pub(crate) fn conflict(message: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, message)
    }

    pub(crate) fn unavailable(message: impl Into<String>) -> Self {
        Self::new(StatusCode::SERVICE_UNAVAILABLE, message)
    }

    pub(crate) fn internal(message: impl Into<String>) -> Self {
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, message)
    }

    /// Too often; to be tried again after so many seconds.
    pub(crate) fn too_many(message: impl Into<String>, seconds: u64) -> Self {
        Self::new(StatusCode::TOO_MANY_REQUESTS, message)
            .header(header::RETRY_AFTER, seconds.to_string())
    }

    /// A part of the request has the wrong shape; `place` leads to it.
    pub(crate) fn invalid(place: &[&str], message: &str, kind: &str) -> Self {
        let mut error = Self::new(
            StatusCode::UNPROCESSABLE_ENTITY,
            format!("{}: {message}", place.join(".")),
        );
        error.0.body = json!({"detail": [{"loc": place, "msg": message, "type": kind}]});
        error
    }

    /// One more field of the answer.
    #[must_use]
    pub(crate) fn field(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.0.body[name] = value.into();
        self
    }

    #[must_use]
    pub(crate) fn header(mut self, name: HeaderName, value: String) -> Self {
        self.0.headers.push((name, value));
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.0.status
    }

    pub(crate) fn message(&self) -> &str {
        &self.0.message
    }
}

impl From<LostWork> for ApiError {
    fn from(LostWork: LostWork) -> Self {
        Self::internal("the request failed; `hermes logs gui` has the reason")
    }
}

impl IntoResponse for ApiError {
    fn into_response(self) -> Response {
        let mut response = json_response(self.0.status, &self.0.body);
        response
            .extensions_mut()
            .insert(Refusal(self.0.message.clone()));
        for (name, value) in self.0.headers {
            if let Ok(value) = HeaderValue::from_str(&value) {
                response.headers_mut().append(name, value);
            }
        }
        response
    }
}

/// An answer in JSON. What is in it is never kept by a cache.
pub(crate) fn json_response(status: StatusCode, value: &Value) -> Response {
    json_text_response(status, serde_json::to_vec(value).unwrap_or_default())
}

/// The same of what is text already.
pub(crate) fn json_text_response(status: StatusCode, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(
        header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
