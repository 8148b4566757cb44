//! Bodies of requests: JSON objects of a bounded size that arrive in a bounded time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use serde_json::{Map, Value};

use super::error::ApiError;

/// Largest body.
const MAX_BYTES: usize = 10_000_000;
/// How long a client may take to send one.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The body as a JSON object.
pub(crate) async fn read_object(body: Body) -> Result<Map<String, Value>, ApiError> {
    parse_object(&read(body).await?)
}

/// The body as a JSON object; none counts as an empty one.
pub(crate) async fn read_optional_object(body: Body) -> Result<Map<String, Value>, ApiError> {
    let bytes = read(body).await?;
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

async fn read(body: Body) -> Result<Bytes, ApiError> {
    match tokio::time::timeout(TIME_LIMIT, read_capped(body)).await {
        Ok(read) => read,
        Err(_) => Err(ApiError::refused(
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "the body of the request did not arrive within {} seconds",
                TIME_LIMIT.as_secs()
            ),
        )
        .code("request_timeout")),
    }
}

async fn read_capped(mut body: Body) -> Result<Bytes, ApiError> {
    // A length that is told in advance saves reading anything.
    let announced = http_body::Body::size_hint(&body).lower();
    if announced > MAX_BYTES as u64 {
        return Err(too_large());
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame
            .map_err(|_| ApiError::bad_request("the body of the request ended before its end"))?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > MAX_BYTES {
            return Err(too_large());
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}

fn too_large() -> ApiError {
    ApiError::refused(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body of the request is larger than {MAX_BYTES} bytes"),
    )
    .code("body_too_large")
}
