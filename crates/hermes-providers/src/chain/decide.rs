//! What to do after a failure. Pure.

use std::time::{Duration, SystemTime};

use super::backoff::{LONGEST_ASKED, delay};
use crate::error::{ErrorClass, Failure};

/// Where a request stands when it fails.
#[derive(Debug, Clone, Copy)]
pub(super) struct Standing {
    /// Tries on this route that count, this one included.
    pub(super) attempt: u32,
    /// Most tries on one route.
    pub(super) most: u32,
    /// Keys of this route.
    pub(super) keys: usize,
    /// How often the present key was told to slow down, this time included.
    pub(super) slowed: u32,
    /// Another route is left.
    pub(super) has_fallback: bool,
    /// The connection was made anew already.
    pub(super) reconnected: bool,
}

/// What to do.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Step {
    /// The same again after a while.
    Wait(Duration),
    /// The same again over a new connection, after a while.
    Reconnect(Duration),
    /// Set this key aside, and take another if there is one; otherwise as after [`Step::Fallback`].
    Rotate,
    /// The next route; none left means the end.
    Fallback,
    /// Nothing helps here; the caller decides.
    GiveUp,
}

/// What to do about a failure.
pub(super) fn step(failure: &Failure, standing: Standing, now: SystemTime) -> Step {
    match failure.class {
        ErrorClass::Auth if failure.status == Some(403) => Step::Fallback,
        ErrorClass::Auth | ErrorClass::Billing => Step::Rotate,
        ErrorClass::RateLimit => rate_limit(failure, standing, now),
        // Another answer of the same kind is likely where the address is wrong.
        ErrorClass::Malformed if standing.has_fallback => Step::Fallback,
        ErrorClass::Overloaded
        | ErrorClass::ServerError
        | ErrorClass::Malformed
        | ErrorClass::Unknown => {
            if standing.attempt < standing.most {
                Step::Wait(delay(failure, standing.attempt))
            } else {
                Step::Fallback
            }
        }
        ErrorClass::Timeout if failure.is_about_certificate() => Step::Fallback,
        ErrorClass::Timeout => {
            if standing.attempt < standing.most {
                Step::Wait(delay(failure, standing.attempt))
            } else if standing.reconnected {
                Step::Fallback
            } else {
                let pause = 3 + u64::from(standing.attempt);
                Step::Reconnect(Duration::from_secs(pause.min(8)))
            }
        }
        ErrorClass::ModelNotFound | ErrorClass::ContentPolicyBlocked | ErrorClass::FormatError => {
            Step::Fallback
        }
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
        | ErrorClass::Interrupted => Step::GiveUp,
    }
}

fn rate_limit(failure: &Failure, standing: Standing, now: SystemTime) -> Step {
    let far = failure
        .reset_at
        .and_then(|at| at.duration_since(now).ok())
        .or(failure.retry_after)
        .is_some_and(|wait| wait > LONGEST_ASKED);
    let text = failure.message.to_lowercase();
    let used_up = far || text.contains("usage limit") || text.contains("usage_limit");
    if standing.keys > 1 {
        if used_up || standing.slowed > 1 {
            return Step::Rotate;
        }
    } else if standing.has_fallback {
        return Step::Fallback;
    }
    // Waiting for hours is for the user to decide, who is told the time.
    if far || standing.attempt >= standing.most {
        return Step::Fallback;
    }
    Step::Wait(delay(failure, standing.attempt))
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEAR: Standing = Standing {
        attempt: 1,
        most: 3,
        keys: 1,
        slowed: 1,
        has_fallback: false,
        reconnected: false,
    };

    fn after(class: ErrorClass, standing: Standing) -> Step {
        step(&Failure::new(class, ""), standing, SystemTime::now())
    }

    #[test]
    fn a_lone_key_waits_and_several_take_turns() {
        assert!(matches!(after(ErrorClass::RateLimit, NEAR), Step::Wait(_)));
        let fallback = Standing {
            has_fallback: true,
            ..NEAR
        };
        assert_eq!(after(ErrorClass::RateLimit, fallback), Step::Fallback);
        let pool = Standing {
            keys: 2,
            ..fallback
        };
        assert!(matches!(after(ErrorClass::RateLimit, pool), Step::Wait(_)));
        let second = Standing { slowed: 2, ..pool };
        assert_eq!(after(ErrorClass::RateLimit, second), Step::Rotate);
        let failure = Failure::new(ErrorClass::RateLimit, "Usage limit reached");
        assert_eq!(step(&failure, pool, SystemTime::now()), Step::Rotate);
    }

    #[test]
    fn a_quota_that_opens_tomorrow_is_not_waited_for() {
        let now = SystemTime::now();
        let failure = Failure {
            reset_at: Some(now + Duration::from_hours(9)),
            ..Failure::new(ErrorClass::RateLimit, "")
        };
        assert_eq!(step(&failure, NEAR, now), Step::Fallback);
    }

    #[test]
    fn an_unreachable_server_gets_one_new_connection() {
        assert!(matches!(after(ErrorClass::Timeout, NEAR), Step::Wait(_)));
        let last = Standing { attempt: 3, ..NEAR };
        let pause = Duration::from_secs(6);
        assert_eq!(after(ErrorClass::Timeout, last), Step::Reconnect(pause));
        let done = Standing {
            reconnected: true,
            ..last
        };
        assert_eq!(after(ErrorClass::Timeout, done), Step::Fallback);
    }

    #[test]
    fn what_retrying_cannot_mend_is_not_retried() {
        let stranger = "no connection: invalid peer certificate: UnknownIssuer";
        let stranger = Failure::new(ErrorClass::Timeout, stranger);
        assert_eq!(step(&stranger, NEAR, SystemTime::now()), Step::Fallback);
        assert_eq!(after(ErrorClass::Billing, NEAR), Step::Rotate);
        assert_eq!(after(ErrorClass::FormatError, NEAR), Step::Fallback);
        assert_eq!(after(ErrorClass::ContextOverflow, NEAR), Step::GiveUp);
        assert_eq!(after(ErrorClass::Interrupted, NEAR), Step::GiveUp);
    }
}
