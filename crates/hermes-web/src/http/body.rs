//! Bodies of requests as JSON.

use axum::body::Body;
use hermes_serve::{BodyError, read_body};
use serde_json::Value;

use super::error::ApiError;

/// The body as JSON; `None` if there is none.
pub(crate) async fn read_json(body: Body) -> Result<Option<Value>, ApiError> {
    let bytes = read_body(body).await?;
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

impl From<BodyError> for ApiError {
    fn from(error: BodyError) -> Self {
        Self::new(error.status(), error.to_string())
    }
}
