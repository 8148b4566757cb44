//! Decides what to do after a failed attempt. Pure.

use std::time::{Duration, SystemTime};

use super::backoff::{MAX_RETRY_AFTER, delay};
use crate::error::{ErrorClass, ProviderFailure};

/// The state of a request after a failed attempt.
#[derive(Debug, Clone, Copy)]
pub(super) struct AttemptState {
    /// Attempts on this route that count, including this one.
    pub(super) attempt: u32,
    pub(super) max_attempts: u32,
    pub(super) keys: usize,
    /// Rate limit errors of the current key, including this one.
    pub(super) rate_limited: u32,
    /// Whether another route is left.
    pub(super) has_fallback: bool,
    /// Whether the connection was already reopened.
    pub(super) reconnected: bool,
}

/// The next action.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RetryDecision {
    Wait(Duration),
    Reconnect(Duration),
    /// Mark this key as exhausted and use another; without another as [`RetryDecision::Fallback`].
    Rotate,
    /// Use the next route; if none is left, fail.
    Fallback,
    /// Fail: no retry helps, the caller decides.
    GiveUp,
}

/// Decides about a failure.
pub(super) fn decide(
    failure: &ProviderFailure,
    state: AttemptState,
    now: SystemTime,
) -> RetryDecision {
    match failure.class {
        ErrorClass::Auth if failure.status == Some(403) => RetryDecision::Fallback,
        ErrorClass::Auth | ErrorClass::Billing => RetryDecision::Rotate,
        ErrorClass::RateLimit => rate_limit(failure, state, now),
        // If the address is wrong, the next answer will be malformed, too.
        ErrorClass::Malformed if state.has_fallback => RetryDecision::Fallback,
        ErrorClass::Overloaded
        | ErrorClass::ServerError
        | ErrorClass::Malformed
        | ErrorClass::Unknown => {
            if state.attempt < state.max_attempts {
                RetryDecision::Wait(delay(failure, state.attempt))
            } else {
                RetryDecision::Fallback
            }
        }
        ErrorClass::Timeout if failure.is_about_certificate() => RetryDecision::Fallback,
        ErrorClass::Timeout => {
            if state.attempt < state.max_attempts {
                RetryDecision::Wait(delay(failure, state.attempt))
            } else if state.reconnected {
                RetryDecision::Fallback
            } else {
                let pause = 3 + u64::from(state.attempt);
                RetryDecision::Reconnect(Duration::from_secs(pause.min(8)))
            }
        }
        // The same request would bring the same flood again.
        ErrorClass::AnswerTooLarge
        | ErrorClass::ModelNotFound
        | ErrorClass::ContentPolicyBlocked
        | ErrorClass::FormatError => RetryDecision::Fallback,
        ErrorClass::ContextOverflow
        | ErrorClass::PayloadTooLarge
        | ErrorClass::ImageTooLarge
        | ErrorClass::MultimodalToolContent
        | ErrorClass::ImagesRejected
        | ErrorClass::ProviderPolicyBlocked
        | ErrorClass::ThinkingSignature
        | ErrorClass::InvalidEncryptedContent
        | ErrorClass::Grammar
        | ErrorClass::LongContextTier
        | ErrorClass::Script
        | ErrorClass::Interrupted => RetryDecision::GiveUp,
    }
}

fn rate_limit(failure: &ProviderFailure, state: AttemptState, now: SystemTime) -> RetryDecision {
    let is_far = failure
        .reset_at
        .and_then(|at| at.duration_since(now).ok())
        .or(failure.retry_after)
        .is_some_and(|wait| wait > MAX_RETRY_AFTER);
    let text = failure.message.to_lowercase();
    let used_up = is_far || text.contains("usage limit") || text.contains("usage_limit");
    if state.keys > 1 {
        if used_up || state.rate_limited > 1 {
            return RetryDecision::Rotate;
        }
    } else if state.has_fallback {
        return RetryDecision::Fallback;
    }
    // Waiting for hours is the user's decision; the error names the time.
    if is_far || state.attempt >= state.max_attempts {
        return RetryDecision::Fallback;
    }
    RetryDecision::Wait(delay(failure, state.attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST_ATTEMPT: AttemptState = AttemptState {
        attempt: 1,
        max_attempts: 3,
        keys: 1,
        rate_limited: 1,
        has_fallback: false,
        reconnected: false,
    };

    fn after(class: ErrorClass, state: AttemptState) -> RetryDecision {
        decide(&ProviderFailure::new(class, ""), state, SystemTime::now())
    }

    #[test]
    fn single_key_waits_and_several_rotate() {
        assert!(matches!(
            after(ErrorClass::RateLimit, FIRST_ATTEMPT),
            RetryDecision::Wait(_)
        ));
        let fallback = AttemptState {
            has_fallback: true,
            ..FIRST_ATTEMPT
        };
        assert_eq!(
            after(ErrorClass::RateLimit, fallback),
            RetryDecision::Fallback
        );
        let pool = AttemptState {
            keys: 2,
            ..fallback
        };
        assert!(matches!(
            after(ErrorClass::RateLimit, pool),
            RetryDecision::Wait(_)
        ));
        let second = AttemptState {
            rate_limited: 2,
            ..pool
        };
        assert_eq!(after(ErrorClass::RateLimit, second), RetryDecision::Rotate);
        let failure = ProviderFailure::new(ErrorClass::RateLimit, "Usage limit reached");
        assert_eq!(
            decide(&failure, pool, SystemTime::now()),
            RetryDecision::Rotate
        );
    }

    #[test]
    fn quota_that_resets_tomorrow_is_not_waited_for() {
        let now = SystemTime::now();
        let failure = ProviderFailure {
            reset_at: Some(now + Duration::from_hours(9)),
            ..ProviderFailure::new(ErrorClass::RateLimit, "")
        };
        assert_eq!(
            decide(&failure, FIRST_ATTEMPT, now),
            RetryDecision::Fallback
        );
    }

    #[test]
    fn unreachable_server_gets_one_new_connection() {
        assert!(matches!(
            after(ErrorClass::Timeout, FIRST_ATTEMPT),
            RetryDecision::Wait(_)
        ));
        let last = AttemptState {
            attempt: 3,
            ..FIRST_ATTEMPT
        };
        let pause = Duration::from_secs(6);
        assert_eq!(
            after(ErrorClass::Timeout, last),
            RetryDecision::Reconnect(pause)
        );
        let done = AttemptState {
            reconnected: true,
            ..last
        };
        assert_eq!(after(ErrorClass::Timeout, done), RetryDecision::Fallback);
    }

    #[test]
    fn permanent_errors_are_not_retried() {
        let untrusted = "no connection: invalid peer certificate: UnknownIssuer";
        let untrusted = ProviderFailure::new(ErrorClass::Timeout, untrusted);
        assert_eq!(
            decide(&untrusted, FIRST_ATTEMPT, SystemTime::now()),
            RetryDecision::Fallback
        );
        assert_eq!(
            after(ErrorClass::Billing, FIRST_ATTEMPT),
            RetryDecision::Rotate
        );
        assert_eq!(
            after(ErrorClass::FormatError, FIRST_ATTEMPT),
            RetryDecision::Fallback
        );
        assert_eq!(
            after(ErrorClass::ContextOverflow, FIRST_ATTEMPT),
            RetryDecision::GiveUp
        );
        assert_eq!(
            after(ErrorClass::Interrupted, FIRST_ATTEMPT),
            RetryDecision::GiveUp
        );
    }
}
