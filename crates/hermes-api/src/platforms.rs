//! `/api/platforms/{platform}/events`: events that a platform sends by HTTP.

use crate::call::{Answered, Call};
use crate::http::ApiError;

/// Longest name of a platform.
const MOST_NAME: usize = 64;

#[expect(clippy::unused_async, reason = "endpoints are asynchronous")]
pub(crate) async fn events(call: Call) -> Answered {
    let platform = call.id();
    let is_letter = |letter: char| letter.is_ascii_alphanumeric() || "_-".contains(letter);
    if platform.is_empty() || platform.len() > MOST_NAME || !platform.chars().all(is_letter) {
        let message = "the name of a platform has letters, digits, '_' and '-' only";
        return Err(ApiError::bad_request(message).code("invalid_platform"));
    }
    let message = format!("no platform '{platform}' is connected that takes events by HTTP");
    Err(ApiError::unavailable(message).code("platform_unavailable"))
}
