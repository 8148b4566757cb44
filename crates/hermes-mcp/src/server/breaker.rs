//! A server that fails again and again is left alone for a while: a model must not spend its turn on
//! waiting for it.

use std::time::{Duration, Instant};

use crate::error::Error;

/// Failures in a row after which calls are answered at once.
const MAX_FAILURES: u32 = 3;
/// For how long.
const REST: Duration = Duration::from_mins(1);

#[derive(Debug, Default)]
pub(super) struct Breaker {
    failures: u32,
    rests_until: Option<Instant>,
    last: String,
}

impl Breaker {
    /// The answer to a call while the server is left alone.
    pub(super) fn refusal(&self, now: Instant) -> Option<Error> {
        let until = self.rests_until.filter(|until| *until > now)?;
        Some(Error::Resting {
            failures: self.failures,
            left: until - now,
            last: self.last.clone(),
        })
    }

    pub(super) fn succeeded(&mut self) {
        *self = Self::default();
    }

    /// One more failure. After a rest a single one is enough for the next.
    pub(super) fn failed(&mut self, error: &Error, now: Instant) {
        if !error.counts() {
            return;
        }
        self.failures += 1;
        self.last = error.to_string();
        if self.failures >= MAX_FAILURES {
            self.rests_until = Some(now + REST);
        }
    }

    /// What went wrong last, if nothing went well since.
    pub(super) fn last(&self) -> Option<&str> {
        (self.failures > 0).then_some(self.last.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_failures_in_a_row_give_a_minute_of_rest() {
        let mut breaker = Breaker::default();
        let now = Instant::now();
        let failure = Error::LostDuringCall;
        for _ in 0..2 {
            breaker.failed(&failure, now);
            assert_eq!(breaker.refusal(now), None);
        }
        breaker.failed(&Error::Interrupted, now);
        assert_eq!(breaker.refusal(now), None);
        breaker.failed(&failure, now);
        let text = breaker.refusal(now).unwrap().to_string();
        assert!(text.starts_with("it failed 3 times in a row"), "{text}");
        assert_eq!(breaker.refusal(now + REST), None);
        breaker.failed(&failure, now + REST);
        assert!(breaker.refusal(now + REST).is_some());
        breaker.succeeded();
        assert_eq!(breaker.refusal(now + REST), None);
    }
}
