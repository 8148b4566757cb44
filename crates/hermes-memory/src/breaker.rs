//! Leaves a service alone that keeps failing.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Failures in a row after which a service is left alone.
const FAILURES: u32 = 5;
/// For how long.
const PAUSE: Duration = Duration::from_mins(2);

/// Failures of a service in a row.
#[derive(Debug, Default)]
pub(crate) struct Breaker {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    failures: u32,
    paused_until: Option<Instant>,
}

impl Breaker {
    /// Whether the service is left alone now.
    pub(crate) fn is_open(&self, now: Instant) -> bool {
        let mut state = self.lock();
        match state.paused_until {
            Some(until) if now < until => true,
            Some(_) => {
                *state = State::default();
                false
            }
            None => false,
        }
    }

    pub(crate) fn succeeded(&self) {
        *self.lock() = State::default();
    }

    pub(crate) fn failed(&self, now: Instant) {
        let mut state = self.lock();
        state.failures += 1;
        if state.failures >= FAILURES {
            state.paused_until = Some(now + PAUSE);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_failures_in_a_row_pause_for_two_minutes() {
        let now = Instant::now();
        let breaker = Breaker::default();
        for _ in 0..4 {
            breaker.failed(now);
        }
        breaker.succeeded();
        for _ in 0..4 {
            breaker.failed(now);
        }
        assert!(!breaker.is_open(now));
        breaker.failed(now);
        assert!(breaker.is_open(now + Duration::from_secs(119)));
        assert!(!breaker.is_open(now + PAUSE));
        breaker.failed(now + PAUSE);
        assert!(!breaker.is_open(now + PAUSE), "it starts to count again");
    }
}
