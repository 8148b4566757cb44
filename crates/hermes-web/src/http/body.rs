//! Bodies of requests: JSON of a bounded size that arrives in a bounded time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::StatusCode;
use serde_json::Value;

use super::error::ApiError;

/// Largest body.
const MAX_BYTES: usize = 10_000_000;
/// How long a client may take to send one.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// The body as JSON; `None` if there is none.
pub(crate) async fn read_json(body: Body) -> Result<Option<Value>, ApiError> {
    let read = tokio::time::timeout(TIME_LIMIT, read_capped(body)).await;
    let bytes = read.unwrap_or_else(|_| {
        Err(ApiError::new(
            StatusCode::REQUEST_TIMEOUT,
            format!(
                "the body of the request did not arrive within {} seconds",
                TIME_LIMIT.as_secs()
            ),
        ))
    })?;
    if bytes.is_empty() {
        return Ok(None);
    }
    match serde_json::from_slice(&bytes) {
        Ok(value) => Ok(Some(value)),
        Err(error) => {
            let message = format!(
                "the body is not JSON (line {}, column {})",
                error.line(),
                error.column()
            );
            Err(ApiError::invalid(&["body"], &message, "json_invalid"))
        }
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
    ApiError::new(
        StatusCode::PAYLOAD_TOO_LARGE,
        format!("the body of the request is larger than {MAX_BYTES} bytes"),
    )
}
