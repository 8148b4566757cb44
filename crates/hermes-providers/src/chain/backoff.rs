//! The delay before a request is retried.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::error::{ErrorClass, ProviderFailure};

/// The longest delay a provider may ask for.
pub(super) const MAX_RETRY_AFTER: Duration = Duration::from_mins(2);

/// The first and the longest delay, in seconds.
const ERRORS: (f64, f64) = (2.0, 60.0);
const MALFORMED: (f64, f64) = (5.0, 120.0);

/// The delay after `attempt` failed attempts.
pub(super) fn delay(failure: &ProviderFailure, attempt: u32) -> Duration {
    let asked = failure.retry_after.filter(|_| {
        matches!(
            failure.class,
            ErrorClass::RateLimit | ErrorClass::Overloaded
        )
    });
    if let Some(asked) = asked {
        return asked.min(MAX_RETRY_AFTER);
    }
    let backoff = if failure.class == ErrorClass::Malformed {
        MALFORMED
    } else {
        ERRORS
    };
    doubling(backoff, attempt, jitter())
}

fn doubling((first, longest): (f64, f64), attempt: u32, jitter: f64) -> Duration {
    let doubled = first * 2_f64.powi(i32::try_from(attempt.max(1) - 1).unwrap_or(30));
    Duration::from_secs_f64(doubled.min(longest) * (1.0 + jitter / 2.0))
}

/// Jitter from 0 to 1. It must differ between processes, not be unguessable.
fn jitter() -> f64 {
    let random = RandomState::new().hash_one(std::process::id()) >> 32;
    u32::try_from(random).map_or(0.0, |random| f64::from(random) / f64::from(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delay_doubles_up_to_a_limit_with_half_jitter() {
        assert_eq!(doubling(ERRORS, 1, 0.0).as_millis(), 2_000);
        assert_eq!(doubling(ERRORS, 1, 1.0).as_millis(), 3_000);
        assert_eq!(doubling(ERRORS, 2, 0.0).as_millis(), 4_000);
        assert_eq!(doubling(ERRORS, 2, 1.0).as_millis(), 6_000);
        assert_eq!(doubling(ERRORS, 40, 0.0).as_millis(), 60_000);
        assert_eq!(doubling(MALFORMED, 1, 0.0).as_millis(), 5_000);
        assert_eq!(doubling(MALFORMED, 9, 1.0).as_millis(), 180_000);
    }

    #[test]
    fn retry_after_wins_up_to_two_minutes() {
        let asking = |class, seconds| {
            let failure = ProviderFailure {
                retry_after: Some(Duration::from_secs(seconds)),
                ..ProviderFailure::new(class, "")
            };
            delay(&failure, 1).as_millis()
        };
        assert_eq!(asking(ErrorClass::RateLimit, 1), 1_000);
        assert_eq!(asking(ErrorClass::RateLimit, 500), 120_000);
        assert!(asking(ErrorClass::ServerError, 500) <= 3_000);
    }
}
