//! The body of an answer, read up to a size: a server can send without end.

use reqwest::Response;

use crate::root_cause;

/// Why a body was not read to its end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    TooLong,
    /// The connection failed, for this reason.
    Broken(String),
}

/// The body of an answer that has at most so many bytes.
pub async fn read_body(mut response: Response, most: usize) -> Result<Vec<u8>, BodyError> {
    let mut bytes = Vec::new();
    loop {
        let chunk = response.chunk().await;
        let chunk = chunk.map_err(|error| BodyError::Broken(root_cause(error)))?;
        let Some(chunk) = chunk else {
            return Ok(bytes);
        };
        if bytes.len() + chunk.len() > most {
            return Err(BodyError::TooLong);
        }
        bytes.extend_from_slice(&chunk);
    }
}
