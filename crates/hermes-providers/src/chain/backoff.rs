//! How long to wait before a request is made again.

use std::hash::{BuildHasher, RandomState};
use std::time::Duration;

use crate::error::{ErrorClass, Failure};

/// The longest wait that a provider may ask for.
pub(super) const LONGEST_ASKED: Duration = Duration::from_mins(2);

/// Waits that double.
#[derive(Debug, Clone, Copy)]
struct Backoff {
    base: f64,
    most: f64,
}

const ERRORS: Backoff = Backoff {
    base: 2.0,
    most: 60.0,
};
const MALFORMED: Backoff = Backoff {
    base: 5.0,
    most: 120.0,
};

/// The wait before the next try, after `attempt` tries.
pub(super) fn delay(failure: &Failure, attempt: u32) -> Duration {
    let asked = failure.retry_after.filter(|_| {
        matches!(
            failure.class,
            ErrorClass::RateLimit | ErrorClass::Overloaded
        )
    });
    if let Some(asked) = asked {
        return asked.min(LONGEST_ASKED);
    }
    let backoff = if failure.class == ErrorClass::Malformed {
        MALFORMED
    } else {
        ERRORS
    };
    backoff.delay(attempt, random_share())
}

impl Backoff {
    fn delay(self, attempt: u32, share: f64) -> Duration {
        let doubled = self.base * 2_f64.powi(i32::try_from(attempt.max(1) - 1).unwrap_or(30));
        let capped = doubled.min(self.most);
        Duration::from_secs_f64(capped * (1.0 + share / 2.0))
    }
}

/// A number from 0 to 1. It needs to differ between processes, not to be unguessable.
fn random_share() -> f64 {
    let drawn = RandomState::new().hash_one(std::process::id()) >> 32;
    #[expect(
        clippy::cast_precision_loss,
        reason = "32 bits fit into a float exactly"
    )]
    let share = drawn as f64 / f64::from(u32::MAX);
    share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_double_up_to_a_bound_and_vary_by_half() {
        assert_eq!(ERRORS.delay(1, 0.0).as_millis(), 2_000);
        assert_eq!(ERRORS.delay(1, 1.0).as_millis(), 3_000);
        assert_eq!(ERRORS.delay(2, 0.0).as_millis(), 4_000);
        assert_eq!(ERRORS.delay(2, 1.0).as_millis(), 6_000);
        assert_eq!(ERRORS.delay(40, 0.0).as_millis(), 60_000);
        assert_eq!(MALFORMED.delay(1, 0.0).as_millis(), 5_000);
        assert_eq!(MALFORMED.delay(9, 1.0).as_millis(), 180_000);
    }

    #[test]
    fn what_the_provider_asks_wins_up_to_two_minutes() {
        let asking = |class, seconds| {
            let failure = Failure {
                retry_after: Some(Duration::from_secs(seconds)),
                ..Failure::new(class, "")
            };
            delay(&failure, 1).as_millis()
        };
        assert_eq!(asking(ErrorClass::RateLimit, 1), 1_000);
        assert_eq!(asking(ErrorClass::RateLimit, 500), 120_000);
        assert!(asking(ErrorClass::ServerError, 500) <= 3_000);
    }
}
