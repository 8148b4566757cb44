//! How often somebody may try.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Keys that are remembered.
const MOST_KEYS: usize = 4_096;

/// So many attempts within a window, for each key.
#[derive(Debug)]
pub(crate) struct RateLimit<K> {
    most: usize,
    window: Duration,
    attempts: Mutex<HashMap<K, Vec<Instant>>>,
}

impl<K: Eq + Hash> RateLimit<K> {
    pub(crate) fn new(most: usize, window: Duration) -> Self {
        Self {
            most,
            window,
            attempts: Mutex::default(),
        }
    }

    /// Counts an attempt; the seconds to wait if there were too many.
    pub(crate) fn attempt(&self, key: K, now: Instant) -> Result<(), u64> {
        let mut attempts = self.attempts.lock().unwrap_or_else(PoisonError::into_inner);
        let is_recent = |at: &Instant| now.duration_since(*at) < self.window;
        if attempts.len() >= MOST_KEYS && !attempts.contains_key(&key) {
            attempts.retain(|_, times| times.last().is_some_and(is_recent));
            if attempts.len() >= MOST_KEYS {
                // Nobody is let through because there are many.
                return Err(self.window.as_secs());
            }
        }
        let times = attempts.entry(key).or_default();
        times.retain(is_recent);
        match times.first() {
            Some(first) if times.len() >= self.most => {
                let left = self.window.saturating_sub(now.duration_since(*first));
                Err(left.as_secs() + 1)
            }
            _ => {
                times.push(now);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pretty_assertions::assert_eq;

    #[test]
    fn the_window_moves_on_and_keys_are_apart() {
        let limit = RateLimit::new(2, Duration::from_secs(60));
        let start = Instant::now();
        assert_eq!(limit.attempt("a", start), Ok(()));
        assert_eq!(limit.attempt("a", start), Ok(()));
        assert_eq!(limit.attempt("a", start), Err(61));
        assert_eq!(limit.attempt("b", start), Ok(()));
        assert_eq!(limit.attempt("a", start + Duration::from_secs(60)), Ok(()));
    }
}
