//! Bodies of requests: of a bounded size, arriving in a bounded time.

use std::time::Duration;

use axum::body::Body;
use bytes::{Bytes, BytesMut};
use http_body_util::BodyExt as _;
use hyper::StatusCode;

/// Largest body, in bytes.
pub const MAX_BODY: usize = 10_000_000;
/// How long a client may take to send one.
const TIME_LIMIT: Duration = Duration::from_secs(30);

/// Why there is no body.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BodyError {
    /// It is longer than [`MAX_BODY`].
    #[error("the body of the request is larger than {MAX_BODY} bytes")]
    TooLarge,
    /// The client took too long.
    #[error("the body of the request did not arrive within {} seconds", TIME_LIMIT.as_secs())]
    TooSlow,
    /// The client went, or broke the rules of HTTP.
    #[error("the body of the request ended before its end")]
    CutShort,
}

impl BodyError {
    /// The status of an answer that says so.
    pub fn status(self) -> StatusCode {
        match self {
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::TooSlow => StatusCode::REQUEST_TIMEOUT,
            Self::CutShort => StatusCode::BAD_REQUEST,
        }
    }
}

/// Reads a body to its end.
pub async fn read_body(body: Body) -> Result<Bytes, BodyError> {
    let read = tokio::time::timeout(TIME_LIMIT, read_capped(body)).await;
    read.unwrap_or(Err(BodyError::TooSlow))
}

async fn read_capped(mut body: Body) -> Result<Bytes, BodyError> {
    // A length that is told in advance saves reading anything.
    if http_body::Body::size_hint(&body).lower() > MAX_BODY as u64 {
        return Err(BodyError::TooLarge);
    }
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| BodyError::CutShort)?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        if bytes.len() + data.len() > MAX_BODY {
            return Err(BodyError::TooLarge);
        }
        bytes.extend_from_slice(&data);
    }
    Ok(bytes.freeze())
}
