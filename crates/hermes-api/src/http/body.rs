//! Bodies of requests as JSON objects.

use axum::body::Body;
use hermes_serve::{BodyError, read_body};
use serde_json::{Map, Value};

use super::error::ApiError;

/// The body as a JSON object.
pub(crate) async fn read_object(body: Body) -> Result<Map<String, Value>, ApiError> {
    parse_object(&read_body(body).await?)
}

/// The body as a JSON object; none counts as an empty one.
pub(crate) async fn read_optional_object(body: Body) -> Result<Map<String, Value>, ApiError> {
    let bytes = read_body(body).await?;
    if bytes.is_empty() {
        return Ok(Map::new());
    }
    parse_object(&bytes)
}

fn parse_object(bytes: &[u8]) -> Result<Map<String, Value>, ApiError> {
    match serde_json::from_slice(bytes) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err(ApiError::bad_request(
            "the body of the request must be a JSON object",
        )),
        Err(error) => Err(ApiError::bad_request(format!(
            "the body of the request is not JSON (line {}, column {})",
            error.line(),
            error.column()
        ))),
    }
}

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        let refused = Self::refused(error.status(), error.to_string());
        match error {
            BodyError::TooLarge => refused.code("body_too_large"),
            BodyError::TooSlow => refused.code("request_timeout"),
            BodyError::CutShort => refused,
        }
    }
}
