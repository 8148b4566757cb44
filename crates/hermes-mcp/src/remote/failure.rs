//! What went wrong on the way to a server, without its address: that may hold a key.

use std::error::Error as StdError;

use rmcp::transport::streamable_http_client::{AuthRequiredError, StreamableHttpError};

use super::sse::SseFailure;
use crate::error::Error;

/// The innermost cause.
pub(crate) fn cause(error: &(dyn StdError + 'static)) -> String {
    let mut innermost = error;
    loop {
        let inner = match innermost.downcast_ref::<StreamableHttpError<reqwest::Error>>() {
            // It does not name what it wraps as its source.
            Some(StreamableHttpError::Client(error)) => {
                let error: &(dyn StdError + 'static) = error;
                Some(error)
            }
            _ => innermost.source(),
        };
        match inner {
            Some(inner) => innermost = inner,
            None => break,
        }
    }
    // Those of HTTP clients end with the address in parentheses.
    let text = innermost.to_string();
    let text = text.split(" for url (").next().unwrap_or_default();
    hermes_text::one_line(text, 300)
}

/// Why a request was not sent or not answered.
pub(crate) fn send_failure(error: &(dyn StdError + 'static)) -> Error {
    let mut current = Some(error);
    while let Some(one) = current {
        if one.is::<AuthRequiredError>() {
            return Error::NeedsLogin {
                reason: String::new(),
            };
        }
        if let Some(StreamableHttpError::<reqwest::Error>::SessionExpired) = one.downcast_ref() {
            return Error::SessionExpired;
        }
        if let Some(SseFailure::Unauthorised(reason)) = one.downcast_ref() {
            return Error::NeedsLogin {
                reason: reason.clone(),
            };
        }
        current = one.source();
    }
    Error::Unreachable(cause(error))
}
