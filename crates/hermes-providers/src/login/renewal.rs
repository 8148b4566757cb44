//! What the answer to a request for new tokens means.

use super::LoginError;
use super::client::{Answer, LoginClient};
use crate::pool::{LoginTokens, RefreshError};

/// The tokens of an answer.
pub(super) fn read(answer: &Answer, client: &LoginClient) -> Result<LoginTokens, RefreshError> {
    if answer.status != 200 {
        return Err(judged(answer, &client.refused(answer)));
    }
    // GitHub refuses with status 200.
    if answer.value["error"].is_string() {
        return Err(judged(answer, &client.refused(answer)));
    }
    client.tokens(&answer.value).map_err(error)
}

pub(super) fn error(error: LoginError) -> RefreshError {
    RefreshError::passing(error.to_string())
}

/// A server that is busy may give a token later; one that does not know the token any more will not.
pub(super) fn judged(answer: &Answer, refused: &LoginError) -> RefreshError {
    RefreshError {
        reason: refused.to_string(),
        is_final: matches!(answer.status, 200 | 400..=403),
    }
}
